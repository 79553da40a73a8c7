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

func unknownVerb(c *cobra.Command, word string) error {
	return unknown(exit.Usage, "command", word, grammar.VerbNames(c), c.CommandPath()+" ")
}

// arguments wants from least to most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var err *exit.Error
		switch {
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
