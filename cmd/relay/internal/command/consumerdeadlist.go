package command

import (
	"fmt"
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
	groupBy := c.Flags().StringSlice("group-by", nil, "Count by reason, by type, or by both: reason,type")
	inGroup(c, commonFlags, "group-by")
	complete(c, "group-by", []string{"reason", "type", "reason,type"})
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
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": total, "groups": all})
	case output.JSONL:
		return writeLines(w, all)
	}
	if len(groups) == 0 {
		_, err := fmt.Fprintln(w, "No dead letters.")
		return err
	}
	return consumerGroupTable(groups, byReason, byType).Write(w)
}

func writeConsumerLetters(w io.Writer, format output.Format, list []people.DeadLetter, groups []people.Group) error {
	var total int64
	for _, g := range groups {
		total += g.Count
	}
	all, ids := make([]consumerLetter, len(list)), make([]int64, len(list))
	for i, l := range list {
		all[i], ids[i] = consumerLetterOf(l), l.ID
	}
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": total, "dead_letters": all})
	case output.JSONL:
		return writeLines(w, all)
	case output.Name:
		return writeNames(w, ids)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No dead letters.")
		return err
	}
	count := output.Count(total, "dead letter")
	if int64(len(list)) < total {
		count = fmt.Sprintf("%s of %s, oldest first: --limit shows more", output.Number(int64(len(list))), count)
	}
	if _, err := fmt.Fprintf(w, "%s.\n\n", count); err != nil {
		return err
	}
	table := output.Table{Heads: []string{"ID", "DEAD SINCE", "CONSUMER", "STATE", "REASON", "ATTEMPTS", "TYPE", "EVENT"}, Right: []bool{true, false, false, false, false, true}}
	for _, l := range all {
		table.Add(l.ID, l.DeadAt, plain(l.Consumer), l.State, l.Reason, strconv.Itoa(l.Attempts), plain(l.EventType), plain(l.EventID))
	}
	return table.Write(w)
}
