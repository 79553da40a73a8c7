package command

import (
	"io"

	"github.com/spf13/cobra"
)

func completionCommand() *cobra.Command {
	shells := []struct {
		name, load string
		write      func(root *cobra.Command, w io.Writer) error
	}{
		{"bash", "outbox-gen completion bash > ~/.local/share/bash-completion/completions/outbox-gen",
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh", `outbox-gen completion zsh > "${fpath[1]}/_outbox-gen"`, (*cobra.Command).GenZshCompletion},
		{"fish", "outbox-gen completion fish > ~/.config/fish/completions/outbox-gen.fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", "outbox-gen completion powershell | Out-String | Invoke-Expression", (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
	var verbs []*cobra.Command
	for _, shell := range shells {
		c := verb(&cobra.Command{
			Use:     shell.name,
			Short:   "Print the completion script for " + shell.name,
			Long:    effects("nothing.", "installs the script. To do that:") + "\n\n  " + shell.load,
			Example: "  outbox-gen completion " + shell.name,
		})
		c.RunE = func(cmd *cobra.Command, _ []string) error { return shell.write(cmd.Root(), cmd.OutOrStdout()) }
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "completion",
		Short:   "Print the completion script for a shell",
		Long:    effects("nothing.", "installs the script."),
		Example: "  outbox-gen completion bash",
	}, verbs...)
}
