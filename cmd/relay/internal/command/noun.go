package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/grammar"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

// What commands are put together with.
var (
	verb       = grammar.Verb
	effects    = grammar.Effects
	inGroup    = grammar.InGroup
	outputFlag = grammar.OutputFlag
	complete   = grammar.Complete
)

// noun makes a command that only has others.
func noun(c *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	return grammar.Noun(c, unknownVerb, verbs...)
}

// unknownVerb refuses a word after a noun.
func unknownVerb(c *cobra.Command, word string) error {
	return unknownCommand(c, word, "the commands are "+strings.Join(grammar.VerbNames(c), ", "))
}

// unknownTopic refuses a word after help.
func unknownTopic(c *cobra.Command, word string) error {
	return unknownCommand(c, word, c.CommandPath()+" --help")
}

// unknownCommand hints at the command that was perhaps meant, or else at what is given.
func unknownCommand(c *cobra.Command, word, otherwise string) error {
	err := exit.Errorf(exit.Usage, "unknown command %q for %s", word, c.CommandPath())
	if near := suggest.Nearest(word, grammar.VerbNames(c)); near != "" {
		return err.WithHint("did you mean %s %s?", c.CommandPath(), near)
	}
	return err.WithHint("%s", otherwise)
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
