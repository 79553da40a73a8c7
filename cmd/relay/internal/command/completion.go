package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/completion"
)

func completionCommand() *cobra.Command {
	var verbs []*cobra.Command
	for _, shell := range completion.Shells("relay") {
		c := verb(&cobra.Command{
			Use:     shell.Name,
			Short:   "Print the completion script for " + shell.Name,
			Long:    effects("nothing.", "installs the script. To do that:") + "\n\n  " + shell.Load,
			Example: "  relay completion " + shell.Name,
		})
		c.RunE = func(cmd *cobra.Command, _ []string) error { return shell.Write(cmd.Root(), cmd.OutOrStdout()) }
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "completion",
		Short:   "Print the completion script for a shell",
		Long:    effects("nothing.", "installs the script."),
		Example: "  relay completion bash",
	}, verbs...)
}
