package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
)

func docsCommand() *cobra.Command {
	var verbs []*cobra.Command
	for _, kind := range reference.Kinds() {
		c := verb(&cobra.Command{
			Use:     kind.Name,
			Short:   kind.Short,
			Long:    effects(kind.Writes, "removes a file, or connects to anything."),
			Example: "  relay docs " + kind.Name + " --dir " + kind.Dir,
		})
		dir := c.Flags().String("dir", "", "Folder to write to, made if it does not exist. Needed")
		inGroup(c, commonFlags, "dir")
		_ = c.MarkFlagDirname("dir") // fails for a flag that does not exist
		c.RunE = func(cmd *cobra.Command, _ []string) error {
			return reference.Write(cmd.OutOrStdout(), *dir, kind.Files(layout().Page(cmd.Root())))
		}
		verbs = append(verbs, c)
	}
	return noun(&cobra.Command{
		Use:     "docs",
		Short:   "Write the reference of all commands",
		Long:    effects("files in a folder.", "removes a file, or connects to anything."),
		Example: "  relay docs markdown --dir docs/reference",
	}, verbs...)
}
