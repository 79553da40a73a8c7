package command

import (
	"context"
	"fmt"
	"strings"

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

// actChunk is how many dead letters one transaction moves.
const actChunk = 1000

// deadLetterVerb is something that is done with dead letters.
type deadLetterVerb struct {
	cobra.Command
	name, done string
	act        func(s *retry.Store, ctx context.Context, ids []int64, actor, reason string) ([]int64, error)
}

// deadLetterOrder is what somebody asked for.
type deadLetterOrder struct {
	*decision
	ids    []int64
	events []string
	filter retry.Filter
	bulk   bool // chosen by flags
}

func deadLetterActCommand(p Process, v deadLetterVerb) *cobra.Command {
	c := verbWithArgs(&v.Command, 0, most)
	var chosen deadLetterFilter
	chosen.flags(c)
	who := decisionFlags(c, keptInHistory, true)
	open := deadLetterFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		order := deadLetterOrder{decision: who, bulk: len(args) == 0}
		order.ids, order.events = splitIDs(args)
		var err error
		if order.filter, err = chosen.filter(); err != nil {
			return err
		}
		if err := order.check(cmd, p, chosen.chosen()); err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		return d.carryOut(cmd, &v, &order, format.Format())
	}
	return c
}

// check refuses an order that cannot be meant, before anything is connected to.
func (o *deadLetterOrder) check(cmd *cobra.Command, p Process, chosen bool) error {
	path := cmd.CommandPath()
	switch {
	case !o.bulk && chosen:
		return exit.Errorf(exit.Usage, "%s takes ids or flags that choose, and not both", path).WithHint("leave one of them out")
	case o.bulk && !chosen:
		return exit.Errorf(exit.Usage, "%s: nothing is chosen", path).
			WithHint("name ids, or choose by --reason-code, --type, --key, --event-id, --since or --before")
	case o.bulk && !o.apply: // a dry run
		return nil
	}
	return o.decision.check(cmd, p)
}

// carryOut shows the plan, asks, does it and says what was done.
func (d *deadLetters) carryOut(cmd *cobra.Command, v *deadLetterVerb, o *deadLetterOrder, format output.Format) error {
	plan, err := d.plan(cmd.Context(), v, o)
	if err != nil {
		return err
	}
	if len(plan.letters) == 0 && !o.bulk {
		return exit.Errorf(exit.NotFound, "there is no dead letter %s in group %s of %s", strings.Join(plan.Missing, ", "), d.group, d.database).
			WithHint("relay dead-letter list shows those that there are; --group names another group")
	}
	if len(plan.letters) == 0 || o.bulk && !o.apply {
		return plan.write(cmd, format)
	}
	if format == output.Text {
		if err := plan.write(cmd, format); err != nil {
			return err
		}
	}
	question := fmt.Sprintf("%s %s in %s?", capital(v.name), output.Count(int64(len(plan.letters)), "dead letter"), d.database)
	look := "leave --apply out to see the plan only"
	if !o.bulk {
		look = "see relay dead-letter show first"
	}
	if err := confirm(cmd, question, o.yes, format, look); err != nil {
		return err
	}
	done, err := d.act(cmd.Context(), v, plan, o)
	plan.Done, plan.Applied = done, true
	if writeErr := plan.writeDone(cmd, format); writeErr != nil {
		return writeErr
	}
	return plan.outcome(err)
}

// act moves in chunks, each in a transaction of its own, and returns what was moved.
func (d *deadLetters) act(ctx context.Context, v *deadLetterVerb, plan *deadLetterPlan, o *deadLetterOrder) ([]int64, error) {
	var done []int64
	for rest := plan.letters; len(rest) > 0; {
		n := min(len(rest), actChunk)
		ids := make([]int64, n)
		for i := range n {
			ids[i] = rest[i].ID
		}
		moved, err := v.act(d.Store, ctx, ids, o.actor, o.reason)
		done = append(done, moved...)
		if err != nil {
			return done, err
		}
		rest = rest[n:]
	}
	return done, nil
}
