package grammar

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// Noun makes a command that only has others: it refuses to be called without one of them. A word
// that names none of them ends in the error that unknown makes of it.
func Noun(c *cobra.Command, unknown func(c *cobra.Command, word string) error, verbs ...*cobra.Command) *cobra.Command {
	c.AddCommand(verbs...)
	c.Args = cobra.ArbitraryArgs
	// An unknown word is the mistake to report, and not the flags that follow it.
	c.FParseErrWhitelist.UnknownFlags = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.Errorf(exit.Usage, "%s needs a command: %s", cmd.CommandPath(), strings.Join(VerbNames(cmd), ", ")).
				WithHint("%s --help", cmd.CommandPath())
		}
		return unknown(cmd, args[0])
	}
	return c
}

// VerbNames returns the names of the commands that a noun shows.
func VerbNames(c *cobra.Command) []string {
	var names []string
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() {
			names = append(names, verb.Name())
		}
	}
	return names
}
