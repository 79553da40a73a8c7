package completion

import (
	"io"

	"github.com/spf13/cobra"
)

// shell is a shell that can complete a program's commands.
type shell struct {
	name string
	load string // what a person types to have it
	// write writes the script of a program, given its root command.
	write func(root *cobra.Command, w io.Writer) error
}

// shells returns the shells that can complete a program.
func shells(program string) []shell {
	return []shell{
		{"bash", program + " completion bash > ~/.local/share/bash-completion/completions/" + program,
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh", program + ` completion zsh > "${fpath[1]}/_` + program + `"`, (*cobra.Command).GenZshCompletion},
		{"fish", program + " completion fish > ~/.config/fish/completions/" + program + ".fish",
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", program + " completion powershell | Out-String | Invoke-Expression", (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
}
