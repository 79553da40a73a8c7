package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

// help prints what package reference has to say about a command.
func help(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), layout().Page(c).Help()) }

// layout is how help, the Markdown document and the manual pages show flags.
func layout() reference.Layout {
	return reference.Layout{Key: grammar.GroupKey, Groups: flagGroups(), Note: secretsNote}
}

// secretsNote says how the secrets are given that flags name files for.
func secretsNote(flags []*pflag.Flag) string {
	secrets := secretsOf(flags)
	if len(secrets) == 0 {
		return ""
	}
	return fmt.Sprintf("Secrets are never flags: set %s, or a file.", strings.Join(secrets, ", "))
}

// secretsOf returns the variables of the secrets that the flags name files for.
func secretsOf(flags []*pflag.Flag) []string {
	var secrets []string
	for _, v := range settings.Variables() {
		named := slices.ContainsFunc(flags, func(f *pflag.Flag) bool { return f.Name == v.Flag })
		if v.FileOf != "" && named {
			secrets = append(secrets, v.FileOf)
		}
	}
	return secrets
}

// helpCommand is "relay help stream plan", for those who type it that way.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help", Hidden: true, Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for _, word := range args {
				i := slices.IndexFunc(c.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word })
				if i < 0 {
					err := exit.Errorf(exit.Usage, "unknown command %q for %s", word, c.CommandPath())
					if near := suggest.Nearest(word, grammar.VerbNames(c)); near != "" {
						return err.WithHint("did you mean %s %s?", c.CommandPath(), near)
					}
					return err.WithHint("%s --help", c.CommandPath())
				}
				c = c.Commands()[i]
			}
			return c.Help()
		},
	}
}
