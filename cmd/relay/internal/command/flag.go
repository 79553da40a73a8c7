package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

// The headings, in the order of help.
const (
	commonFlags     = grammar.CommonFlags
	drainFlags      = "Draining"
	retentionFlags  = "Retention"
	surfaceFlags    = "Control surface"
	connectionFlags = grammar.ConnectionFlags
	outputFlags     = grammar.OutputFlags
)

func flagGroups() []string {
	return []string{commonFlags, drainFlags, retentionFlags, surfaceFlags, connectionFlags, outputFlags}
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

// flagError makes an error of the flag parser one that people can use.
func flagError(c *cobra.Command, err error) error {
	wrong, unknown := grammar.FlagError(c, err)
	if secret, ok := secretFlag(unknown); ok {
		wrong.Hint = fmt.Sprintf("a secret is not given in a flag, which every user of this machine can see: use %s or %s_FILE", secret, secret)
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
