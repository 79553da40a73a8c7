package command

import (
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

func consumerDeadListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List messages that consumers gave up, oldest first",
		Long:    effects("nothing.", "shows a payload."),
		Example: "  relay consumer dead-letter list --since 2h\n  relay consumer dead-letter list --group-by reason,type",
	})
	var chosen consumerDeadFilter
	chosen.flags(c, true)
	groupBy := groupByFlag(c)
	open := consumerFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		filter, err := chosen.filter()
		if err != nil {
			return err
		}
		if err := checkGroupBy(*groupBy, format.Format()); err != nil {
			return err
		}
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.pool.Close()
		groups, err := d.Groups(cmd.Context(), filter)
		if err != nil {
			return err
		}
		if len(*groupBy) > 0 {
			return writeConsumerGroups(cmd.OutOrStdout(), format.Format(), groups, slices.Contains(*groupBy, "reason"), slices.Contains(*groupBy, "type"))
		}
		list, err := d.DeadLetters(cmd.Context(), filter)
		if err != nil {
			return err
		}
		return writeConsumerLetters(cmd.OutOrStdout(), format.Format(), list, groups)
	}
	return c
}

// consumerGroup is a group as JSON has it.
type consumerGroup struct {
	Consumer string `json:"consumer"`
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Type     string `json:"type,omitempty"`
	Count    int64  `json:"count"`
	Oldest   string `json:"oldest"`
	Newest   string `json:"newest"`
}

// merged counts groups together that differ in what nobody asked for.
func merged(groups []people.Group, byReason, byType bool) []people.Group {
	var all []people.Group
	for _, g := range groups {
		if !byReason {
			g.Reason = ""
		}
		if !byType {
			g.Type = ""
		}
		i := slices.IndexFunc(all, func(o people.Group) bool {
			return o.Consumer == g.Consumer && o.State == g.State && o.Reason == g.Reason && o.Type == g.Type
		})
		if i < 0 {
			all = append(all, g)
			continue
		}
		all[i].Count += g.Count
		if g.Oldest.Before(all[i].Oldest) {
			all[i].Oldest = g.Oldest
		}
		if g.Newest.After(all[i].Newest) {
			all[i].Newest = g.Newest
		}
	}
	return all
}

func writeConsumerGroups(w io.Writer, format output.Format, groups []people.Group, byReason, byType bool) error {
	groups = merged(groups, byReason, byType)
	all := make([]consumerGroup, 0, len(groups))
	var total int64
	for _, g := range groups {
		total += g.Count
		all = append(all, consumerGroup{g.Consumer, g.State, g.Reason, g.Type, g.Count, output.Time(g.Oldest), output.Time(g.Newest)})
	}
	return writeGroupList(w, format, total, all, consumerGroupTable(groups, byReason, byType))
}

func writeConsumerLetters(w io.Writer, format output.Format, list []people.DeadLetter, groups []people.Group) error {
	l := listing[consumerLetter]{member: "dead_letters", one: "dead letter", many: "dead letters", none: "No dead letters.", all: make([]consumerLetter, len(list))}
	for _, g := range groups {
		l.total += g.Count
	}
	l.table = &output.Table{Heads: []string{"ID", "DEAD SINCE", "CONSUMER", "STATE", "REASON", "ATTEMPTS", "TYPE", "EVENT"}, Right: []bool{true, false, false, false, false, true}}
	for i, d := range list {
		c := consumerLetterOf(d)
		l.all[i], l.ids = c, append(l.ids, d.ID)
		l.table.Add(c.ID, c.DeadAt, plain(c.Consumer), c.State, c.Reason, strconv.Itoa(c.Attempts), plain(c.EventType), plain(c.EventID))
	}
	return l.write(w, format)
}
