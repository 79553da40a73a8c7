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
		{"bash", "relay completion bash > ~/.local/share/bash-completion/completions/relay",
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh", `relay completion zsh > "${fpath[1]}/_relay"`, (*cobra.Command).GenZshCompletion},
		{"fish", "relay completion fish > ~/.config/fish/completions/relay.fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", "relay completion powershell | Out-String | Invoke-Expression", (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
	var verbs []*cobra.Command
	for _, shell := range shells {
		c := verb(&cobra.Command{
			Use:     shell.name,
			Short:   "Print the completion script for " + shell.name,
			Long:    effects("nothing.", "installs the script. To do that:") + "\n\n  " + shell.load,
			Example: "  relay completion " + shell.name,
		})
		c.RunE = func(cmd *cobra.Command, _ []string) error { return shell.write(cmd.Root(), cmd.OutOrStdout()) }
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "completion",
		Short:   "Print the completion script for a shell",
		Long:    effects("nothing.", "installs the script."),
		Example: "  relay completion bash",
	}, verbs...)
}
