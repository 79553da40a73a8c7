package completion

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
)

// Command returns the command that prints the completion scripts of a program, which noun puts
// together.
func Command(program string, noun func(*cobra.Command, ...*cobra.Command) *cobra.Command) *cobra.Command {
	var verbs []*cobra.Command
	for _, s := range shells(program) {
		c := grammar.Verb(&cobra.Command{
			Use:     s.name,
			Short:   "Print the completion script for " + s.name,
			Long:    grammar.Effects("nothing.", "installs the script. To do that:") + "\n\n  " + s.load,
			Example: "  " + program + " completion " + s.name,
		})
		c.RunE = func(cmd *cobra.Command, _ []string) error { return s.write(cmd.Root(), cmd.OutOrStdout()) }
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "completion",
		Short:   "Print the completion script for a shell",
		Long:    grammar.Effects("nothing.", "installs the script."),
		Example: "  " + program + " completion bash",
	}, verbs...)
}
