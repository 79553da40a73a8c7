package grammar

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// Verb completes a command that does something. It takes no arguments, unless its Args say which.
func Verb(c *cobra.Command) *cobra.Command {
	if c.Args == nil {
		c.Args = noArguments
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	return c
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Errorf(exit.Usage, "%s takes no arguments, got %q", c.CommandPath(), args[0]).
			WithHint("%s --help", c.CommandPath())
	}
	return nil
}

// Effects is the part of a help text that every command has: what it changes and what it never
// does.
func Effects(changes, never string) string {
	return fmt.Sprintf("Changes: %s\nNever:   %s", changes, never)
}
