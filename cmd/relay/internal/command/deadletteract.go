package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// deadLetterActHelp is what both acts say of themselves.
const deadLetterActHelp = "\n\nEach ID is that of a dead letter (a number) or of an event. Without ids, the flags choose, and nothing\n" +
	"is done without --apply. It shows what it would do, then asks; without a terminal, and with an\n" +
	"output for programs, it needs --yes. --reason is kept and needed. Exit status 0 done, 1 not\n" +
	"confirmed, 3 no such id, 6 some were not there any more."

// deadLetterVerb is something that is done with dead letters.
type deadLetterVerb struct {
	cobra.Command
	name, done string
	act        func(s *retry.Store, ctx context.Context, ids []int64, actor, reason string) ([]int64, error)
}

func deadLetterActCommand(p Process, v deadLetterVerb) *cobra.Command {
	c := verbWithArgs(&v.Command, 0, most)
	var chosen deadLetterFilter
	chosen.flags(c)
	who := decisionFlags(c, keptInHistory, true)
	open := deadLetterFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		filter, err := chosen.filter()
		if err != nil {
			return err
		}
		if err := checkBulk(cmd, p, who, len(args), chosen.chosen(), "--reason-code, --type, --key, --event-id, --since or --before"); err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		b := &bulk{verb: v.name, done: v.done, noun: "dead letter", of: " of group " + d.group, database: d.database, byFlags: len(args) == 0, words: d.bulkWords()}
		b.act = func(ctx context.Context, ids []int64) ([]int64, error) {
			return v.act(d.Store, ctx, ids, who.actor, who.reason)
		}
		if err := d.plan(cmd.Context(), b, filter, args); err != nil {
			return err
		}
		return b.carryOut(cmd, who, format.Format())
	}
	return c
}

func (d *deadLetters) bulkWords() bulkWords {
	return bulkWords{
		absent: func(missing string) error {
			return exit.Errorf(exit.NotFound, "there is no dead letter %s in group %s of %s", missing, d.group, d.database).
				WithHint("relay dead-letter list shows those that there are; --group names another group")
		},
		look:        "see relay dead-letter show first",
		missingHint: "somebody requeued or discarded it: relay dead-letter show ID says who",
		fewer:       "the others were not there any more", fewerHint: "somebody requeued or discarded them meanwhile",
	}
}
