package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/reference"
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
