package gen

import (
	"time"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// ConfigVersion is the only [Config.Version] that there is.
const ConfigVersion = 1

// Config says which services of a repository have which components, and where their
// migrations are. It is not changed by what takes it.
type Config struct {
	// Version of this format. Required, must be [ConfigVersion].
	Version int
	// Root is the folder that all paths below are relative to. Nothing outside it is
	// read or written, not even through a symbolic link. Required.
	Root string
	// Defaults stand in for what a service leaves out.
	Defaults Defaults
	// Services, at least one; names and folders are unique.
	Services []Service
	// Now is the clock for file names that are times. Defaults to time.Now.
	Now func() time.Time

	plan planner // defaults to canonical.Plan
}

// Defaults stand in for what a service leaves out.
type Defaults struct {
	Tool   Tool
	Params canonical.Params
}

// Service is one service with migrations of its own.
type Service struct {
	// Name of the service: lower case letters, digits, ".", "_" and "-". Required.
	Name string
	// Dir is the folder of its migrations, with slashes, relative to [Config.Root]. It must
	// exist. Required.
	Dir string
	// Tool that runs the migrations. Defaults to [Defaults.Tool].
	Tool Tool
	// Components that its database has; what they need comes with them. Required.
	Components []canonical.Component
	// Params of the schema. What is zero comes from [Defaults.Params], and then from
	// [canonical.DefaultParams].
	Params canonical.Params
	// Constants is the path of a Go file with the constants of the schema, relative to
	// [Config.Root]; "" for none. See [Constants].
	Constants string
}

// Tool names a migration tool.
type Tool string

// The tools.
const (
	Atlas         Tool = "atlas"
	DBMate        Tool = "dbmate"
	Flyway        Tool = "flyway"
	GolangMigrate Tool = "golang-migrate"
	Goose         Tool = "goose"
	Tern          Tool = "tern"
	Plain         Tool = "plain"
)

// Tools returns all tools.
func Tools() []Tool {
	var all []Tool
	for _, t := range tool.All() {
		all = append(all, Tool(t.Name))
	}
	return all
}

// Summary says in one line what the files of a tool look like; "" for an unknown tool.
func (t Tool) Summary() string {
	known, _ := tool.Find(string(t))
	return known.Summary
}

type planner func(canonical.Params, ...canonical.Component) ([]canonical.Rendered, error)

// Effective returns the service with every default filled in.
func (c Config) Effective(s Service) Service {
	if s.Tool == "" {
		s.Tool = c.Defaults.Tool
	}
	s.Params = merge(merge(s.Params, c.Defaults.Params), canonical.DefaultParams())
	return s
}

// merge fills what is zero in p from q.
func merge(p, q canonical.Params) canonical.Params {
	if p.Schema == "" {
		p.Schema = q.Schema
	}
	if p.Lanes == 0 {
		p.Lanes = q.Lanes
	}
	if p.Slots == 0 {
		p.Slots = q.Slots
	}
	if p.Period == 0 {
		p.Period = q.Period
	}
	if p.MaxEventBytes == 0 {
		p.MaxEventBytes = q.MaxEventBytes
	}
	return p
}

func (c Config) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c Config) planner() planner {
	if c.plan == nil {
		return canonical.Plan
	}
	return c.plan
}
