package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

func consumerDeadLetterCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "dead-letter",
		Short: "Look at messages that consumers gave up, and decide about them",
		Long: effects("with replay and discard, the state of dead letters; who did it and why is kept.",
			"applies one by itself, or shows a payload: the message is in the stream."),
		Example: "  relay consumer dead-letter list --group-by reason,type",
	}, consumerDeadListCommand(p), consumerDeadShowCommand(p), consumerDeadReplayCommand(p), consumerDeadDiscardCommand(p))
}

// consumerDeadFilter are the flags that choose dead letters of consumers.
type consumerDeadFilter struct {
	consumer, reason, kind string
	events, states         []string
	since, before          moment
	limit                  int
}

func (d *consumerDeadFilter) flags(c *cobra.Command, states bool) {
	f := c.Flags()
	f.StringVar(&d.consumer, "consumer", "", "Only those of this consumer")
	f.StringVar(&d.reason, "reason-code", "", "Only those with this reason: "+strings.Join(people.ReasonCodes(), ", "))
	f.StringVar(&d.kind, "type", "", "Only events of this type")
	f.StringArrayVar(&d.events, "event-id", nil, "Only the event with this id, may be repeated")
	f.Var(&d.since, "since", "Only those that died at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&d.before, "before", "Only those that died before this time")
	f.IntVar(&d.limit, "limit", 1000, "How many at most, oldest first")
	if states {
		f.StringSliceVar(&d.states, "state", []string{people.Dead}, "Only those in this state, may be repeated: "+strings.Join(people.States(), ", "))
		complete(c, "state", people.States())
	}
	inGroup(c, commonFlags, "consumer", "reason-code", "type", "event-id", "since", "before", "limit", "state")
	complete(c, "reason-code", people.ReasonCodes())
}

// filter judges the flags.
func (d *consumerDeadFilter) filter() (people.Filter, error) {
	f := people.Filter{EventIDs: d.events, Consumer: d.consumer, States: d.states, Reason: d.reason, Type: d.kind,
		Since: d.since.at, Before: d.before.at, Limit: d.limit}
	if err := checkLimit(d.limit); err != nil {
		return f, err
	}
	if err := checkWords("reason-code", people.ReasonCodes(), d.reason); err != nil {
		return f, err
	}
	return f, checkWords("state", people.States(), d.states...)
}

// chosen reports whether any flag narrows the choice.
func (d *consumerDeadFilter) chosen() bool {
	return d.consumer != "" || d.reason != "" || d.kind != "" || len(d.events) > 0 || !d.since.at.IsZero() || !d.before.at.IsZero()
}

func consumerDeadReplayCommand(p Process) *cobra.Command {
	return consumerDeadActCommand(p, &cobra.Command{
		Use:     "replay [ID...]",
		Aliases: []string{"requeue"},
		Short:   "Ask the consumers to handle dead letters once more",
		Long: effects("dead letters: an instance of the consumer takes each, and applies it through the claim of its fact; who did it\n"+
			"         and why is kept.", "applies one twice, replays one that is requested or replayed already, or publishes anything.") + bulkHelp +
			"\n\nMend the reason first: what fails again is dead again. Nothing happens while the group is paused, and\n" +
			"while no instance runs.",
		Example: "  relay consumer dead-letter replay 1 --reason 'handler mended' --yes\n" +
			"  relay consumer dead-letter replay --reason-code exhausted --since 2h\n" +
			"  relay consumer dead-letter replay --reason-code exhausted --reason 'handler mended' --apply --yes",
	}, "Requested the replay of", []string{people.Dead}, (*people.Store).RequestReplay)
}

func consumerDeadDiscardCommand(p Process) *cobra.Command {
	return consumerDeadActCommand(p, &cobra.Command{
		Use:   "discard [ID...]",
		Short: "Decide that dead letters are never handled, or take back a replay that nobody has begun",
		Long: effects("dead letters: they stay with who did it and why, until their retention is over.",
			"removes the message from the stream, or touches a replay that has begun.") + bulkHelp,
		Example: "  relay consumer dead-letter discard 2 --reason 'test data' --yes",
	}, "Discarded", []string{people.Dead, people.ReplayRequested}, (*people.Store).Discard)
}

func consumerDeadActCommand(p Process, c *cobra.Command, done string, states []string,
	act func(*people.Store, context.Context, []int64, string, string) ([]int64, error),
) *cobra.Command {
	chosen := consumerDeadFilter{states: states}
	chosen.flags(c, false)
	var filter people.Filter
	return consumerBulkCommand(c, p, &consumerBulk{
		done: done, noun: "dead letter", how: "--consumer, --reason-code, --type, --event-id, --since or --before", chosen: chosen.chosen,
		judge: func() (err error) {
			filter, err = chosen.filter()
			return err
		},
		choose: func(ctx context.Context, d *consumerDatabase, b *bulk) error { return b.chooseDead(ctx, d, filter) },
		act: func(ctx context.Context, d *consumerDatabase, ids []int64, who *decision) ([]int64, error) {
			return act(d.Store, ctx, ids, who.actor, who.reason)
		},
	})
}

// chooseDead finds what was named, or what the flags choose.
func (b *bulk) chooseDead(ctx context.Context, d *consumerDatabase, filter people.Filter) error {
	if !b.byFlags {
		filter = people.Filter{IDs: b.asked, States: filter.States, Limit: most}
	}
	list, err := d.DeadLetters(ctx, filter)
	if err != nil {
		return err
	}
	groups, err := d.Groups(ctx, filter)
	if err != nil {
		return err
	}
	for _, g := range groups {
		b.matching += g.Count
	}
	for _, l := range list {
		b.ids = append(b.ids, l.ID)
	}
	b.table = consumerGroupTable(groups, true, true)
	return nil
}

func consumerGroupTable(groups []people.Group, byReason, byType bool) *output.Table {
	all := make([]counted, len(groups))
	for i, g := range groups {
		all[i] = counted{count: g.Count, is: []string{plain(g.Consumer), g.State}, reason: g.Reason, kind: g.Type, oldest: g.Oldest, newest: g.Newest}
	}
	return countTable(all, byReason, byType, "CONSUMER", "STATE")
}
