package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
)

// help prints one line, what the command changes and never does, an example, then its
// commands or its flags in groups.
func help(c *cobra.Command, _ []string) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s.\n\n%s\n\nUsage:\n  %s\n\nExample:\n%s\n", c.Short, c.Long, usageLine(c), c.Example)
	if verbs := c.Commands(); len(verbNames(c)) > 0 {
		out.WriteString("\nCommands:\n")
		table := output.Table{}
		for _, verb := range verbs {
			if verb.IsAvailableCommand() {
				table.Add("  "+verb.Name(), verb.Short)
			}
		}
		_ = table.Write(&out) // to memory
	} else {
		c.InitDefaultHelpFlag()
		c.Flags().Lookup("help").Usage = "Show this"
		inGroup(c, commonFlags, "help")
		for _, group := range flagGroups() {
			out.WriteString(flagHelp(c, group))
		}
	}
	fmt.Fprint(c.OutOrStdout(), out.String())
}

func usageLine(c *cobra.Command) string {
	if len(verbNames(c)) > 0 {
		return c.CommandPath() + " COMMAND"
	}
	if args := argsOf(c); args != "" {
		return c.CommandPath() + " " + args + " [flags]"
	}
	return c.CommandPath() + " [flags]"
}

// flagHelp lists the flags of one group; "" if there are none.
func flagHelp(c *cobra.Command, group string) string {
	var flags []*pflag.Flag
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[groupKey], group) && !f.Hidden {
			flags = append(flags, f)
		}
	})
	if len(flags) == 0 {
		return ""
	}
	table := output.Table{}
	for _, f := range flags {
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		switch kind := f.Value.Type(); kind {
		case "bool":
		case "int":
			name += " count"
		case "stringSlice":
			name += " list"
		case "stringArray", "string":
			name += " text"
		default:
			name += " " + kind
		}
		text := f.Usage
		if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) {
			text += ", default " + f.DefValue
		}
		table.Add(name, text)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s flags:\n", group)
	_ = table.Write(&out) // to memory
	if secrets := secretsOf(flags); len(secrets) > 0 {
		fmt.Fprintf(&out, "\n  Secrets are never flags: set %s, or a file.\n", strings.Join(secrets, ", "))
	}
	return out.String()
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
				names := verbNames(c)
				i := slices.IndexFunc(c.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word })
				if i < 0 {
					err := exit.Errorf(exit.Usage, "unknown command %q for %s", word, c.CommandPath())
					if near := suggest.Nearest(word, names); near != "" {
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
