package gen

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/tool"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var serviceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// Validate reports everything that is wrong with the configuration itself, as a
// [*ConfigError]. It looks at no file.
func (c Config) Validate() error {
	var found problems
	if c.Version != ConfigVersion {
		found.add(-1, "version", "write version: 1", "version %d is unknown", c.Version)
	}
	if len(c.Services) == 0 {
		found.add(-1, "services", "list at least one service", "there is no service")
	}
	if c.Defaults.Tool != "" {
		checkTool(&found, -1, "defaults.tool", c.Defaults.Tool)
	}
	checkParams(&found, -1, "defaults.", c.Defaults.Params)
	for i, s := range c.Services {
		c.validateService(&found, i, s)
	}
	c.validateUnique(&found)
	return found.error()
}

func (c Config) validateService(found *problems, i int, s Service) {
	if !serviceName.MatchString(s.Name) {
		found.add(i, "name", "use lower case letters, digits, dots, underscores and hyphens, 63 at most", "service name %q is not allowed", s.Name)
	}
	checkPath(found, i, "dir", s.Dir)
	if t := c.Effective(s).Tool; t == "" {
		found.add(i, "tool", "name it here or in defaults: "+toolNames(), "service %s has no tool", s.Name)
	} else if s.Tool != "" {
		checkTool(found, i, "tool", t)
	}
	checkComponents(found, i, s)
	checkParams(found, i, "", s.Params)
	if s.Constants != "" {
		checkConstantsPath(found, i, s.Constants)
	}
}

func checkTool(found *problems, i int, field string, t Tool) {
	if _, ok := tool.Find(string(t)); !ok {
		found.add(i, field, "the tools are "+toolNames(), "unknown tool %q", t)
	}
}

func toolNames() string {
	names := make([]string, 0, len(Tools()))
	for _, t := range Tools() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

func checkComponents(found *problems, i int, s Service) {
	if len(s.Components) == 0 {
		found.add(i, "components", "list some of: "+componentNames(), "service %s has no components", s.Name)
	}
	for k, component := range s.Components {
		if _, err := canonical.ParseComponent(string(component)); err != nil {
			found.addItem(i, "components", k, "the components are "+componentNames(), "unknown component %q", component)
		} else if slices.Index(s.Components, component) != k {
			found.addItem(i, "components", k, "list it once", "component %s is listed twice", component)
		}
	}
}

func componentNames() string {
	names := make([]string, 0, len(canonical.Components()))
	for _, component := range canonical.Components() {
		names = append(names, string(component))
	}
	return strings.Join(names, ", ")
}

// checkParams judges each parameter alone, so that a problem can be shown where it is written.
func checkParams(found *problems, i int, prefix string, p canonical.Params) {
	for _, one := range []struct {
		field  string
		params canonical.Params
	}{
		{"schema", canonical.Params{Schema: p.Schema}},
		{"lanes", canonical.Params{Lanes: p.Lanes}},
		{"retention.slots", canonical.Params{Slots: p.Slots}},
		{"retention.period", canonical.Params{Period: p.Period}},
		{"max_event_bytes", canonical.Params{MaxEventBytes: p.MaxEventBytes}},
	} {
		if err := one.params.Validate(); err != nil {
			found.add(i, prefix+one.field, "leave it out for the default", "%s", err.Error())
		}
	}
}

// checkPath refuses what could leave the root or needs thought in a shell.
func checkPath(found *problems, i int, field, name string) bool {
	hint := "name a folder below the configuration file, with slashes, such as services/orders/migrations"
	switch {
	case name == "":
		found.add(i, field, hint, "%s is empty", field)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		found.add(i, field, hint, "%s %q has control characters", field, name)
	case strings.Contains(name, `\`):
		found.add(i, field, hint, "%s %q has backslashes", field, name)
	case path.IsAbs(name) || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		found.add(i, field, hint, "%s %q is absolute", field, name)
	case slices.Contains(strings.Split(name, "/"), ".."):
		found.add(i, field, hint, "%s %q leads out of its folder", field, name)
	case !fs.ValidPath(name) || !filepath.IsLocal(name):
		found.add(i, field, fmt.Sprintf("write it as %s", path.Clean(name)), "%s %q is not in its shortest form", field, name)
	case strings.HasPrefix(name, "-"):
		found.add(i, field, hint, "%s %q begins with a hyphen, which commands take for a flag", field, name)
	default:
		return true
	}
	return false
}

// validateUnique wants every name and every target once. Case does not count, because
// some file systems do not tell it apart.
func (c Config) validateUnique(found *problems) {
	names, targets := map[string]int{}, map[string]int{}
	once := func(seen map[string]int, i int, field, value string) {
		if value == "" {
			return
		}
		key := strings.ToLower(value)
		if first, twice := seen[key]; twice {
			found.add(i, field, fmt.Sprintf("the first is service number %d, %s", first+1, c.Services[first].Name), "%s %s is listed twice", field, value)
			return
		}
		seen[key] = i
	}
	for i, s := range c.Services {
		once(names, i, "name", s.Name)
		once(targets, i, "dir", s.Dir)
		once(targets, i, "go", s.Constants)
	}
}
