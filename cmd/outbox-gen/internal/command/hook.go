package command

import (
	"embed"
	"fmt"

	"github.com/spf13/cobra"
)

//go:embed hooks
var hooks embed.FS

func hookCommand(Process) *cobra.Command {
	kinds := []struct{ name, file, short, use string }{
		{"pre-commit", "hooks/pre-commit.sh", "Print a git hook that checks before a commit", "outbox-gen hook pre-commit > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"},
		{"github", "hooks/github.yaml", "Print a GitHub workflow that checks every pull request", "outbox-gen hook github > .github/workflows/outbox-gen.yaml"},
		{"gitlab", "hooks/gitlab.yaml", "Print a GitLab job that checks every merge request", "outbox-gen hook gitlab >> .gitlab-ci.yml"},
		{"make", "hooks/make.mk", "Print make targets that check and write", "outbox-gen hook make >> Makefile"},
	}
	var verbs []*cobra.Command
	for _, kind := range kinds {
		c := verb(&cobra.Command{
			Use:     kind.name,
			Short:   kind.short,
			Long:    effects("nothing.", "installs it. To do that:") + "\n\n  " + kind.use,
			Example: "  outbox-gen hook " + kind.name,
		})
		c.RunE = func(cmd *cobra.Command, _ []string) error {
			text, err := hooks.ReadFile(kind.file)
			if err != nil {
				return fmt.Errorf("read the text of the hook: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		}
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "hook",
		Short:   "Print how git and CI call outbox-gen check",
		Long:    effects("nothing.", "installs a hook."),
		Example: "  outbox-gen hook pre-commit",
	}, verbs...)
}
