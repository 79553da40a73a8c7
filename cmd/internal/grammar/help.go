package grammar

import (
	"slices"

	"github.com/spf13/cobra"
)

// HelpCommand is "help", for those who type "help stream plan" instead of "stream plan --help". A word
// that names no command ends in the error that unknown makes of it.
func HelpCommand(root *cobra.Command, unknown func(c *cobra.Command, word string) error) *cobra.Command {
	return &cobra.Command{
		Use: "help", Hidden: true, Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for _, word := range args {
				i := slices.IndexFunc(c.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word })
				if i < 0 {
					return unknown(c, word)
				}
				c = c.Commands()[i]
			}
			return c.Help()
		},
	}
}
