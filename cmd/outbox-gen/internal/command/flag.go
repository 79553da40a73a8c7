package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/config"
)

// groupKey is the annotation of a flag that says under which heading help shows it.
const groupKey = "holdfast_group"

// The headings, in the order of help.
const (
	commonFlags     = "Common"
	connectionFlags = "Connection"
	outputFlags     = "Output"
)

func flagGroups() []string {
	return []string{commonFlags, mappingFlags, connectionFlags, outputFlags}
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

// outputFlag gives a command -o with the formats that it has.
func outputFlag(c *cobra.Command, formats ...output.Format) *output.Flag {
	f := output.NewFlag(formats...)
	c.Flags().VarP(f, "output", "o", "Format of the output")
	inGroup(c, outputFlags, "output")
	complete(c, "output", f.Allowed())
	return f
}

const configVariable = "OUTBOX_GEN_CONFIG"

// configFlag gives a command --config, and returns where the configuration is once the
// flags are parsed.
func configFlag(c *cobra.Command, p Process) func() string {
	path := c.Flags().StringP("config", "c", "", "Configuration, "+config.FileName+" if not set ("+configVariable+")")
	inGroup(c, commonFlags, "config")
	return func() string {
		switch {
		case *path != "":
			return *path
		case p.Getenv(configVariable) != "":
			return p.Getenv(configVariable)
		default:
			return config.FileName
		}
	}
}

// dryFlag gives a command --dry-run.
func dryFlag(c *cobra.Command) *bool {
	dry := c.Flags().BoolP("dry-run", "n", false, "Write nothing, and show what would be written")
	inGroup(c, commonFlags, "dry-run")
	return dry
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values []string) {
	// Fails for a flag that does not exist, or twice: both are seen by the tests of help.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// flagError makes an error of the flag parser one that people can use.
func flagError(c *cobra.Command, err error) error {
	wrong := &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Hint: c.CommandPath() + " --help"}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return wrong
	}
	sign := "--"
	if missing.GetSpecifiedShortnames() != "" {
		sign = "-"
	}
	wrong.Err = fmt.Errorf("unknown flag %s%s for %s", sign, missing.GetSpecifiedName(), c.CommandPath())
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := suggest.Nearest(missing.GetSpecifiedName(), names); near != "" {
		wrong.Hint = "did you mean --" + near + "?"
	}
	return wrong
}
