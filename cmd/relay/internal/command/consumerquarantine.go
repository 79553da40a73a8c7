package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

func consumerQuarantineCommand(p Process) *cobra.Command {
	return noun(&cobra.Command{
		Use:   "quarantine",
		Short: "Look at events that tell a known fact in another way, and decide about them",
		Long: effects("with resolve, whether somebody has decided; who did it and what was decided is kept.",
			"changes a fact or an effect, or shows a value: digests say whether two are the same."),
		Example: "  relay consumer quarantine list",
	}, consumerQuarantineListCommand(p), consumerQuarantineShowCommand(p), consumerQuarantineResolveCommand(p))
}

// quarantineFilter are the flags that choose events in quarantine.
type quarantineFilter struct {
	consumer, kind string
	all            bool
	since, before  moment
	limit          int
}

func (q *quarantineFilter) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&q.consumer, "consumer", "", "Only those of this consumer")
	f.StringVar(&q.kind, "type", "", "Only events of this type")
	f.Var(&q.since, "since", "Only those that came at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&q.before, "before", "Only those that came before this time")
	f.IntVar(&q.limit, "limit", 1000, "How many at most, oldest first")
	inGroup(c, commonFlags, "consumer", "type", "since", "before", "limit")
}

func (q *quarantineFilter) filter() (people.QuarantineFilter, error) {
	return people.QuarantineFilter{Consumer: q.consumer, Type: q.kind, Open: !q.all, Since: q.since.at, Before: q.before.at, Limit: q.limit}, checkLimit(q.limit)
}

func (q *quarantineFilter) chosen() bool {
	return q.consumer != "" || q.kind != "" || !q.since.at.IsZero() || !q.before.at.IsZero()
}

// quarantined is an event in quarantine as JSON has it: a contract, only ever added to.
type quarantined struct {
	ID          string                    `json:"id"`
	Consumer    string                    `json:"consumer"`
	EventSource string                    `json:"event_source"`
	EventID     string                    `json:"event_id"`
	EventType   string                    `json:"event_type"`
	FactID      string                    `json:"fact_id"`
	Source      string                    `json:"fact_source"`
	Account     string                    `json:"fact_account"`
	FactType    string                    `json:"fact_type"`
	FactKey     string                    `json:"fact_key"`
	Reason      string                    `json:"reason"`
	Difference  map[string]people.Digests `json:"difference"`
	State       string                    `json:"state"`
	CreatedAt   string                    `json:"created_at"`
	SeenAt      string                    `json:"seen_at"`
	ResolvedAt  string                    `json:"resolved_at"`
	ResolvedBy  string                    `json:"resolved_by"`
	Resolution  string                    `json:"resolution"`
}

func quarantinedOf(q people.Quarantined) quarantined {
	return quarantined{strconv.FormatInt(q.ID, 10), q.Consumer, q.EventSource, q.EventID, q.EventType, strconv.FormatInt(q.FactID, 10),
		q.Source, q.Account, q.FactType, q.FactKey, q.Reason, q.Difference, q.State, output.Time(q.CreatedAt), output.Time(q.SeenAt),
		timeOrEmpty(q.ResolvedAt), q.ResolvedBy, q.Resolution}
}

func (q quarantined) attributes() string {
	return strings.Join(slices.Sorted(maps.Keys(q.Difference)), ",")
}

func consumerQuarantineListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List events that tell a known fact in another way, oldest first",
		Long:    effects("nothing.", "shows a value."),
		Example: "  relay consumer quarantine list\n  relay consumer quarantine list --all --since 7d",
	})
	var chosen quarantineFilter
	chosen.flags(c)
	c.Flags().BoolVar(&chosen.all, "all", false, "Also those that are resolved")
	inGroup(c, commonFlags, "all")
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		filter, err := chosen.filter()
		if err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		list, err := d.Quarantine(cmd.Context(), filter)
		if err != nil {
			return err
		}
		l := listing[quarantined]{member: "quarantine", one: "event in quarantine", many: "events in quarantine", none: "Nothing in quarantine.", all: make([]quarantined, len(list))}
		if l.total, err = d.CountQuarantine(cmd.Context(), filter); err != nil {
			return err
		}
		for i, q := range list {
			l.all[i], l.ids = quarantinedOf(q), append(l.ids, q.ID)
		}
		l.table = quarantineTable(l.all)
		return l.write(cmd.OutOrStdout(), format.Format())
	}
	return c
}

func quarantineTable(all []quarantined) *output.Table {
	table := &output.Table{Heads: []string{"ID", "SINCE", "CONSUMER", "STATE", "FACT", "ATTRIBUTES", "TYPE", "EVENT"}, Right: []bool{true}}
	for _, q := range all {
		table.Add(q.ID, q.CreatedAt, plain(q.Consumer), q.State, q.FactID, plain(q.attributes()), plain(q.EventType), plain(q.EventID))
	}
	return table
}

func consumerQuarantineShowCommand(p Process) *cobra.Command {
	return consumerShowByID(&cobra.Command{
		Use:     "show ID",
		Short:   "Show an event in quarantine, the fact that it tells, and what was decided",
		Long:    effects("nothing.", "shows a value: digests say whether two are the same.") + "\n\nExit status 3 if there is none.",
		Example: "  relay consumer quarantine show 1",
	}, p, func(cmd *cobra.Command, d *consumerDatabase, id int64, format output.Format) error {
		list, err := d.Quarantine(cmd.Context(), people.QuarantineFilter{IDs: []int64{id}})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return exit.Errorf(exit.NotFound, "there is no event %d in quarantine in %s", id, d.database).WithHint("relay consumer quarantine list --all shows those that there are")
		}
		return writeQuarantined(cmd, format, quarantinedOf(list[0]))
	})
}

func writeQuarantined(cmd *cobra.Command, format output.Format, q quarantined) error {
	if format == output.JSON {
		return output.WriteJSON(cmd.OutOrStdout(), output.JSON, q)
	}
	differs := output.Table{Heads: []string{"ATTRIBUTE", "KNOWN SHA256", "TOLD SHA256"}}
	for _, name := range slices.Sorted(maps.Keys(q.Difference)) {
		differs.Add(plain(name), plain(q.Difference[name].Known), plain(q.Difference[name].Told))
	}
	return writeShown(cmd, [][2]string{
		{"quarantine", q.ID}, {"state", q.State}, {"consumer", plain(q.Consumer)}, {"event", plain(q.EventID)}, {"source", plain(q.EventSource)},
		{"type", plain(q.EventType)}, {"since", q.CreatedAt}, {"seen last", q.SeenAt}, {"reason", q.Reason},
		{"fact", fmt.Sprintf("%s: %s of %s, account %s, %s", q.FactID, plain(q.FactType), plain(q.Source), plain(q.Account), plain(q.FactKey))},
		{"resolved", plain(q.ResolvedAt)}, {"by", plain(q.ResolvedBy)}, {"resolution", plain(q.Resolution)},
	}, &differs)
}

func consumerQuarantineResolveCommand(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "resolve [ID...]",
		Short: "Say that events in quarantine are decided about",
		Long: effects("events in quarantine: they are resolved, with who did it and what was decided (--reason).",
			"changes a fact or an effect: correct those first, by an entry of its own.") + bulkHelp,
		Example: "  relay consumer quarantine resolve 1 --reason 'provider sent the wrong amount, ticket 17' --yes",
	}
	var chosen quarantineFilter
	chosen.flags(c)
	var filter people.QuarantineFilter
	return consumerBulkCommand(c, p, &consumerBulk{
		done: "Resolved", noun: "event", how: "--consumer, --type, --since or --before", chosen: chosen.chosen,
		judge: func() (err error) {
			filter, err = chosen.filter()
			return err
		},
		choose: func(ctx context.Context, d *consumerDatabase, b *bulk) error {
			return b.chooseQuarantined(ctx, d, filter)
		},
		act: func(ctx context.Context, d *consumerDatabase, ids []int64, who *decision) ([]int64, error) {
			return d.Resolve(ctx, ids, who.actor, who.reason)
		},
	})
}

// chooseQuarantined finds what was named, or what the flags choose.
func (b *bulk) chooseQuarantined(ctx context.Context, d *consumerDatabase, filter people.QuarantineFilter) error {
	if !b.byFlags {
		filter = people.QuarantineFilter{IDs: b.asked, Open: true, Limit: most}
	}
	list, err := d.Quarantine(ctx, filter)
	if err != nil {
		return err
	}
	if b.matching, err = d.CountQuarantine(ctx, filter); err != nil {
		return err
	}
	all := make([]quarantined, len(list))
	for i, q := range list {
		all[i], b.ids = quarantinedOf(q), append(b.ids, q.ID)
	}
	b.table = quarantineTable(all)
	return nil
}
