package grammar

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

// GroupKey is the annotation of a flag that says under which heading help shows it.
const GroupKey = "holdfast_group"

// The headings that every program has.
const (
	CommonFlags     = "Common"
	ConnectionFlags = "Connection"
	OutputFlags     = "Output"
)

// InGroup puts flags of a command under a heading.
func InGroup(c *cobra.Command, group string, names ...string) {
	for _, name := range names {
		if f := c.Flags().Lookup(name); f != nil {
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[GroupKey] = []string{group}
		}
	}
}

// OutputFlag gives a command -o with the formats that it has.
func OutputFlag(c *cobra.Command, formats ...output.Format) *output.Flag {
	f := output.NewFlag(formats...)
	c.Flags().VarP(f, "output", "o", "Format of the output")
	InGroup(c, OutputFlags, "output")
	Complete(c, "output", f.Allowed())
	return f
}

// Complete offers the values of a flag to the shell.
func Complete(c *cobra.Command, flag string, values []string) {
	// Fails for a flag that does not exist, or twice: both are seen by the tests of help.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// FlagError makes an error of the flag parser one that people can use. If there is no such flag,
// unknown is the name that was given.
func FlagError(c *cobra.Command, err error) (wrong *exit.Error, unknown string) {
	wrong = &exit.Error{Code: exit.Usage, Err: fmt.Errorf("%s: %w", c.CommandPath(), err), Hint: c.CommandPath() + " --help"}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return wrong, ""
	}
	unknown = missing.GetSpecifiedName()
	sign := "--"
	if missing.GetSpecifiedShortnames() != "" {
		sign = "-"
	}
	wrong.Err = fmt.Errorf("unknown flag %s%s for %s", sign, unknown, c.CommandPath())
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := suggest.Nearest(unknown, names); near != "" {
		wrong.Hint = "did you mean --" + near + "?"
	}
	return wrong, unknown
}
