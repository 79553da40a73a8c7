package reference

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
)

// Command returns the command that writes the reference of a program, which noun puts together.
func Command(program string, l Layout, noun func(*cobra.Command, ...*cobra.Command) *cobra.Command) *cobra.Command {
	var verbs []*cobra.Command
	for _, kind := range kinds() {
		verbs = append(verbs, kind.command(program, l))
	}
	return noun(&cobra.Command{
		Use:     "docs",
		Short:   "Write the reference of all commands",
		Long:    grammar.Effects("files in a folder.", never),
		Example: "  " + program + " docs markdown --dir docs/reference",
	}, verbs...)
}

const never = "removes a file, or connects to anything."

func (k kind) command(program string, l Layout) *cobra.Command {
	c := grammar.Verb(&cobra.Command{
		Use:     k.name,
		Short:   k.short,
		Long:    grammar.Effects(k.writes, never),
		Example: "  " + program + " docs " + k.name + " --dir " + k.dir,
	})
	dir := c.Flags().String("dir", "", "Folder to write to, made if it does not exist. Needed")
	grammar.InGroup(c, grammar.CommonFlags, "dir")
	_ = c.MarkFlagDirname("dir") // fails for a flag that does not exist
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return Write(cmd.OutOrStdout(), *dir, k.files(l.Page(cmd.Root())))
	}
	return c
}
