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
		return unknown(exit.Usage, "command", args[0], names, cmd.CommandPath()+" ")
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

// verb completes a command that does something: it takes no arguments, or says which.
func verb(c *cobra.Command) *cobra.Command {
	if c.Args == nil {
		c.Args = arguments(0, 0)
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	return c
}

// arguments wants from least to most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var err *exit.Error
		switch {
		case most == 0 && len(args) > 0:
			err = exit.Errorf(exit.Usage, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
		case len(args) > most:
			err = exit.Errorf(exit.Usage, "%s takes at most %d arguments, got %d", cmd.CommandPath(), most, len(args))
		case len(args) < least:
			err = exit.Errorf(exit.Usage, "%s needs an argument", cmd.UseLine())
		default:
			return nil
		}
		return err.WithHint("%s --help", cmd.CommandPath())
	}
}

// unknown is the error for a word that is none of the known ones, with the one that was
// perhaps meant, or all of them.
func unknown(code exit.Code, what, word string, known []string, prefix string) *exit.Error {
	err := exit.Errorf(code, "unknown %s %q", what, word)
	if near := suggest.Nearest(word, known); near != "" {
		return err.WithHint("did you mean %s%s?", prefix, near)
	}
	return err.WithHint("there are: %s", strings.Join(known, ", "))
}

// effects is the part of a help text that every command has: what it changes and what it never
// does.
func effects(changes, never string) string {
	return fmt.Sprintf("Changes: %s\nNever:   %s", changes, never)
}
