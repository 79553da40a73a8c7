package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

// noun makes a command that only has others: it refuses to be called without one of them.
func noun(c *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	c.AddCommand(verbs...)
	c.Args = cobra.ArbitraryArgs
	// An unknown word is the mistake to report, and not the flags that follow it.
	c.FParseErrWhitelist.UnknownFlags = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		names := verbNames(cmd)
		if len(args) == 0 {
			return exit.Errorf(exit.Usage, "%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", ")).
				WithHint("%s --help", cmd.CommandPath())
		}
		err := exit.Errorf(exit.Usage, "unknown command %q for %s", args[0], cmd.CommandPath())
		if near := suggest.Nearest(args[0], names); near != "" {
			return err.WithHint("did you mean %s %s?", cmd.CommandPath(), near)
		}
		return err.WithHint("the commands are %s", strings.Join(names, ", "))
	}
	return c
}

func verbNames(c *cobra.Command) []string {
	var names []string
	for _, verb := range c.Commands() {
		if verb.IsAvailableCommand() {
			names = append(names, verb.Name())
		}
	}
	return names
}

// verb completes a command that does something: it takes no arguments.
func verb(c *cobra.Command) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exit.Errorf(exit.Usage, "%s takes no arguments, got %q", cmd.CommandPath(), args[0]).
				WithHint("%s --help", cmd.CommandPath())
		}
		return nil
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

// verbWithArgs completes a command that takes from least to most arguments; its Use names them.
func verbWithArgs(c *cobra.Command, least, most int) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return exit.Errorf(exit.Usage, "%s needs %s", cmd.CommandPath(), argsOf(cmd)).WithHint("%s --help", cmd.CommandPath())
		}
		if len(args) > most {
			return exit.Errorf(exit.Usage, "%s takes %s, got %q", cmd.CommandPath(), argsOf(cmd), args).WithHint("%s --help", cmd.CommandPath())
		}
		return nil
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

// argsOf returns what a command's Use says after its name.
func argsOf(c *cobra.Command) string {
	_, args, _ := strings.Cut(c.Use, " ")
	return args
}

// effects is the part of a help text that every command has: what it changes and what it never
// does.
func effects(changes, never string) string {
	return fmt.Sprintf("Changes: %s\nNever:   %s", changes, never)
}
