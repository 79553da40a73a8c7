package command

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
)

// help prints what package reference has to say about a command.
func help(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), layout().Page(c).Help()) }

// layout is how help, the Markdown document and the manual pages show flags.
func layout() reference.Layout { return reference.Layout{Key: grammar.GroupKey, Groups: flagGroups()} }

// helpCommand is "outbox-gen help check", for those who type it that way.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help", Hidden: true, Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for _, word := range args {
				i := slices.IndexFunc(c.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word })
				if i < 0 {
					return unknownVerb(c, word)
				}
				c = c.Commands()[i]
			}
			return c.Help()
		},
	}
}
