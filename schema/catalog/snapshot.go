package catalog

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

//go:generate ./refresh.sh

//go:embed snapshot/*.json
var snapshots embed.FS

// Tokens of a snapshot, for what follows from the parameters.
const (
	lanesToken  = "{{lanes}}"
	slotsToken  = "{{slots}}"
	slotToken   = "{{slot}}" // the number of one slot, in its partition
	periodToken = "{{period_seconds}}"
	bytesToken  = "{{max_event_bytes}}"
)

// snapshot is what a server of one major version said about the canonical schema. Function
// bodies are not in it: they are in the canonical files.
type snapshot struct {
	Postgres   int                                           `json:"postgres"`
	Sources    map[string]string                             `json:"sources"` // digests of what it was made from
	Components map[canonical.Component]map[string]properties `json:"components"`
}

// UnknownMajorError is returned by [Snapshot] for a version of Postgres that this build
// was not made for.
type UnknownMajorError struct {
	Major int
	Known []int
}

func (e *UnknownMajorError) Error() string {
	return fmt.Sprintf("Postgres %d is not known to this build, only %s", e.Major, e.Supported())
}

// Supported names the versions that this build knows.
func (e *UnknownMajorError) Supported() string {
	return fmt.Sprintf("Postgres %d to %d", slices.Min(e.Known), slices.Max(e.Known))
}

// Hint says what a person can do.
func (e *UnknownMajorError) Hint() string {
	return "Upgrade Holdfast, or run `outbox-gen verify` as a role that may create a database schema: it then asks this server."
}

// Snapshot returns what the components, and those that they need, look like in a server of
// a major version, without asking one. The error for a version that this build does
// not know is an [*UnknownMajorError].
func Snapshot(major int, params canonical.Params, components ...canonical.Component) (*Expected, error) {
	params = params.WithDefaults()
	plan, err := canonical.Plan(params, components...)
	if err != nil {
		return nil, fmt.Errorf("expect schema: %w", err)
	}
	snap, err := load(major)
	if err != nil {
		return nil, fmt.Errorf("expect schema: %w", err)
	}
	sources, err := bodies(plan)
	if err != nil {
		return nil, fmt.Errorf("expect schema: %w", err)
	}
	e := &Expected{Source: FromSnapshot, Major: major, Params: params, Components: planned(plan), facts: facts{}}
	for _, c := range e.Components {
		for key, props := range snap.Components[c] {
			o, ok := parseKey(key)
			if !ok {
				return nil, fmt.Errorf("expect schema: snapshot of Postgres %d: %q is not an object", major, key)
			}
			addSnapshot(e.facts, o, props, params)
		}
	}
	for o, props := range e.facts {
		if o.Kind == kindFunction {
			props[propBody] = sources[functionName(o.Name)]
		}
	}
	e.facts.expand()
	addSeeds(e.facts, plan)
	return e, nil
}

// addSnapshot adds an object with the parameters filled in; one that is told for a slot,
// for every slot.
func addSnapshot(f facts, o Object, props properties, p canonical.Params) {
	pairs := []string{
		lanesToken, strconv.Itoa(p.Lanes),
		slotsToken, strconv.Itoa(p.Slots),
		periodToken, strconv.Itoa(int(p.Period / time.Second)),
		bytesToken, strconv.Itoa(p.MaxEventBytes),
	}
	if !strings.Contains(o.Table+o.Name, slotToken) {
		for property, value := range props {
			f.add(o, property, strings.NewReplacer(pairs...).Replace(value))
		}
		return
	}
	for slot := range p.Slots {
		replace := strings.NewReplacer(append([]string{slotToken, strconv.Itoa(slot)}, pairs...)...).Replace
		for property, value := range props {
			f.add(Object{Kind: o.Kind, Table: replace(o.Table), Name: replace(o.Name)}, property, replace(value))
		}
	}
}

// planned returns the components of a plan, in its order.
func planned(plan []canonical.Rendered) []canonical.Component {
	var components []canonical.Component
	for _, file := range plan {
		if !slices.Contains(components, file.Component) {
			components = append(components, file.Component)
		}
	}
	return components
}

// Majors returns the versions of Postgres that this build knows, oldest first.
func Majors() []int {
	var majors []int
	entries, _ := fs.ReadDir(snapshots, "snapshot") // embedded
	for _, e := range entries {
		if major, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".json")); err == nil {
			majors = append(majors, major)
		}
	}
	slices.Sort(majors)
	return majors
}

// loaded caches what load parsed, by major version.
var loaded sync.Map

func load(major int) (*snapshot, error) {
	if snap, has := loaded.Load(major); has {
		return snap.(*snapshot), nil
	}
	text, err := snapshots.ReadFile(fmt.Sprintf("snapshot/%d.json", major))
	if err != nil {
		return nil, &UnknownMajorError{Major: major, Known: Majors()}
	}
	var snap snapshot
	if err := json.Unmarshal(text, &snap); err != nil {
		return nil, fmt.Errorf("read the snapshot of Postgres %d: %w", major, err)
	}
	loaded.Store(major, &snap)
	return &snap, nil
}

// sources returns what a snapshot depends on, by component and version.
func sources() (map[string]string, error) {
	plan, err := canonical.Plan(canonical.DefaultParams(), canonical.Components()...)
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, file := range plan {
		sum := sha256.Sum256([]byte(skeleton(file.SQL)))
		digests[fmt.Sprintf("%s %d", file.Component, file.Version)] = hex.EncodeToString(sum[:])
	}
	return digests, nil
}
