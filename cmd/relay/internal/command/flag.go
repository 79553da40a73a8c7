package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

// groupKey is the annotation of a flag that says under which heading help shows it.
const groupKey = "holdfast_group"

// The headings, in the order of help.
const (
	commonFlags     = "Common"
	drainFlags      = "Draining"
	retentionFlags  = "Retention"
	surfaceFlags    = "Control surface"
	connectionFlags = "Connection"
	outputFlags     = "Output"
)

func flagGroups() []string {
	return []string{commonFlags, drainFlags, retentionFlags, surfaceFlags, connectionFlags, outputFlags}
}

// inGroup puts flags of a command under a heading.
func inGroup(c *cobra.Command, group string, names ...string) {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil {
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[groupKey] = []string{group}
		}
	}
}

// headings says where help shows the flags of a section of the settings.
var headings = map[settings.Section]string{
	settings.Database:  connectionFlags,
	settings.NATS:      connectionFlags,
	settings.Stream:    commonFlags,
	settings.Drain:     drainFlags,
	settings.Retention: retentionFlags,
	settings.HTTP:      commonFlags,
	settings.Holds:     surfaceFlags,
	settings.Log:       outputFlags,
}

// settingFlags gives a command a flag for every setting of the sections, and returns how to load
// the settings once the flags are parsed.
func settingFlags(c *cobra.Command, p Process, sections ...settings.Section) func(needs ...settings.Need) (*settings.Loaded, error) {
	given := map[string]*settingValue{}
	for _, v := range settings.Variables() {
		if v.Flag == "" || !slices.Contains(sections, v.Section) {
			continue
		}
		value := &settingValue{kind: v.Kind, text: v.Default}
		if v.Values != nil {
			value.kind = strings.Join(v.Values, "|")
		}
		given[v.Name] = value
		c.Flags().Var(value, v.Flag, fmt.Sprintf("%s (%s)", strings.TrimSuffix(v.Doc, "."), v.Name))
		inGroup(c, headings[v.Section], v.Flag)
		if v.Values != nil {
			complete(c, v.Flag, v.Values)
		}
	}
	return func(needs ...settings.Need) (*settings.Loaded, error) {
		flags := map[string]string{}
		for name, value := range given {
			if value.set {
				flags[name] = value.text
			}
		}
		return settings.Load(settings.Sources{Flags: flags, Environ: p.Environ}, needs...)
	}
}

// settingValue is a flag that takes any text: settings judges it together with what the
// environment has, so that all problems are reported at once.
type settingValue struct {
	text string
	kind string
	set  bool
}

func (v *settingValue) Set(text string) error { v.text, v.set = text, true; return nil }
func (v *settingValue) String() string        { return v.text }
func (v *settingValue) Type() string {
	if v.kind == "" {
		return "text"
	}
	return v.kind
}

// outputFlag gives a command -o with the formats that it has.
func outputFlag(c *cobra.Command, formats ...output.Format) *output.Flag {
	f := output.NewFlag(formats...)
	c.Flags().VarP(f, "output", "o", "Format of the output")
	inGroup(c, outputFlags, "output")
	complete(c, "output", f.Allowed())
	return f
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values []string) {
	// Fails for a flag that does not exist, or twice: both are seen by the tests of help.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// flagError makes an error of the flag parser one that people can use.
func flagError(c *cobra.Command, err error) error {
	wrong := &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Hint: c.CommandPath() + " --help"}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return wrong
	}
	wrong.Err = fmt.Errorf("unknown flag --%s for %s", unknown.GetSpecifiedName(), c.CommandPath())
	if unknown.GetSpecifiedShortnames() != "" {
		wrong.Err = fmt.Errorf("unknown flag -%s for %s", unknown.GetSpecifiedName(), c.CommandPath())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if secret, ok := secretFlag(unknown.GetSpecifiedName()); ok {
		wrong.Hint = fmt.Sprintf("a secret is not given in a flag, which every user of this machine can see: use %s or %s_FILE", secret, secret)
	} else if near := suggest.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		wrong.Hint = "did you mean --" + near + "?"
	}
	return wrong
}

// secretFlag returns the variable of the secret that somebody tried to give as a flag.
func secretFlag(name string) (variable string, ok bool) {
	for _, v := range settings.Variables() {
		if v.Secret && strings.EqualFold(strings.ReplaceAll(name, "-", "_"), strings.TrimPrefix(v.Name, settings.Prefix)) {
			return v.Name, true
		}
	}
	return "", false
}
