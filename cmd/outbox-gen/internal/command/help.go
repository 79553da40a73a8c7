package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// help prints one line, what the command changes and never does, an example, then its
// commands or its flags in groups.
func help(c *cobra.Command, _ []string) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s.\n\n%s\n\nUsage:\n  %s\n\nExample:\n%s\n", c.Short, c.Long, usageLine(c), c.Example)
	if len(verbNames(c)) > 0 {
		out.WriteString("\nCommands:\n")
		table := output.Table{}
		for _, verb := range c.Commands() {
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
	_, arguments, _ := strings.Cut(c.Use, " ")
	return strings.TrimSpace(c.CommandPath()+" "+arguments) + " [flags]"
}

// flagHelp lists the flags of one group; "" if there are none.
func flagHelp(c *cobra.Command, group string) string {
	table := output.Table{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || !slices.Contains(f.Annotations[groupKey], group) {
			return
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		switch kind := f.Value.Type(); kind {
		case "bool":
		case "int":
			name += " count"
		case "string", "stringArray":
			name += " text"
		case "stringSlice":
			name += " text,..."
		default:
			name += " " + kind
		}
		text := f.Usage
		if !slices.Contains([]string{"", "false", "[]", "0"}, f.DefValue) {
			text += ", default " + f.DefValue
		}
		table.Add(name, text)
	})
	if len(table.Rows) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s flags:\n", group)
	_ = table.Write(&out) // to memory
	return out.String()
}

// helpCommand is "outbox-gen help check", for those who type it that way.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help", Hidden: true, Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c := root
			for _, word := range args {
				i := slices.IndexFunc(c.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word })
				if i < 0 {
					return unknown(exit.Usage, "command", word, verbNames(c), c.CommandPath()+" ")
				}
				c = c.Commands()[i]
			}
			return c.Help()
		},
	}
}
