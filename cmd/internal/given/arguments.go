package given

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
)

// Arguments refuses an argument that is empty, which a command would take for all that there is.
func Arguments(c *cobra.Command, args []string) error {
	if c.Name() == cobra.ShellCompRequestCmd { // the shell asks about a word of which nothing is typed
		return nil
	}
	if slices.ContainsFunc(args, blank) {
		return exit.Errorf(exit.Usage, "%s: an argument is empty", c.CommandPath()).WithHint("a variable of the shell may not be set")
	}
	return nil
}
