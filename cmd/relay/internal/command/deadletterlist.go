package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

func deadLetterListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "list",
		Short:   "List events that were given up, oldest first",
		Long:    effects("nothing.", "shows a payload."),
		Example: "  relay dead-letter list --since 2h\n  relay dead-letter list --group-by reason,type",
	})
	var chosen deadLetterFilter
	chosen.flags(c)
	groupBy := c.Flags().StringSlice("group-by", nil, "Count by reason, by type, or by both: reason,type")
	inGroup(c, commonFlags, "group-by")
	complete(c, "group-by", []string{"reason", "type", "reason,type"})
	open := deadLetterFlags(c, p)
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
		byReason, byType := slices.Contains(*groupBy, "reason"), slices.Contains(*groupBy, "type")
		groups, err := d.Groups(cmd.Context(), filter, byReason, byType)
		if err != nil {
			return err
		}
		if byReason || byType {
			return writeGroups(cmd.OutOrStdout(), format.Format(), groups, byReason, byType)
		}
		list, err := d.List(cmd.Context(), filter)
		if err != nil {
			return err
		}
		return writeDeadLetters(cmd.OutOrStdout(), format.Format(), list, countOf(groups))
	}
	return c
}

func checkGroupBy(names []string, format output.Format) error {
	for _, name := range names {
		if name != "reason" && name != "type" {
			return exit.Errorf(exit.Usage, "--group-by: unknown value %q", name).WithHint("use reason, type, or reason,type")
		}
	}
	if len(names) > 0 && format == output.Name {
		return exit.Errorf(exit.Usage, "--group-by counts, and -o name lists ids").WithHint("leave one of them out")
	}
	return nil
}

func countOf(groups []retry.Group) (n int64) {
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// deadLetterGroup is a group as JSON has it.
type deadLetterGroup struct {
	Reason string `json:"reason,omitempty"`
	Type   string `json:"type,omitempty"`
	Count  int64  `json:"count"`
	Oldest string `json:"oldest"`
	Newest string `json:"newest"`
}

func groupsOf(groups []retry.Group) []deadLetterGroup {
	all := make([]deadLetterGroup, 0, len(groups))
	for _, g := range groups {
		all = append(all, deadLetterGroup{string(g.Reason), g.Type, g.Count, output.Time(g.Oldest), output.Time(g.Newest)})
	}
	return all
}

func writeGroups(w io.Writer, format output.Format, groups []retry.Group, byReason, byType bool) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": countOf(groups), "groups": groupsOf(groups)})
	case output.JSONL:
		return writeLines(w, groupsOf(groups))
	}
	if len(groups) == 0 {
		_, err := fmt.Fprintln(w, "No dead letters.")
		return err
	}
	return groupTable(groups, byReason, byType).Write(w)
}

func groupTable(groups []retry.Group, byReason, byType bool) *output.Table {
	table := &output.Table{Heads: []string{"COUNT"}, Right: []bool{true}}
	if byReason {
		table.Heads = append(table.Heads, "REASON")
	}
	if byType {
		table.Heads = append(table.Heads, "TYPE")
	}
	table.Heads = append(table.Heads, "OLDEST", "NEWEST")
	for _, g := range groups {
		row := []string{output.Number(g.Count)}
		if byReason {
			row = append(row, string(g.Reason))
		}
		if byType {
			row = append(row, g.Type)
		}
		table.Add(append(row, output.Time(g.Oldest), output.Time(g.Newest))...)
	}
	return table
}

func writeDeadLetters(w io.Writer, format output.Format, list []retry.DeadLetter, total int64) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": total, "dead_letters": deadLettersOf(list)})
	case output.JSONL:
		return writeLines(w, deadLettersOf(list))
	case output.Name:
		ids := make([]int64, len(list))
		for i, l := range list {
			ids[i] = l.ID
		}
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
	table := output.Table{Heads: []string{"ID", "DEAD SINCE", "REASON", "ATTEMPTS", "TYPE", "KEY", "EVENT"}, Right: []bool{true, false, false, true}}
	for _, l := range list {
		table.Add(strconv.FormatInt(l.ID, 10), output.Time(l.DeadAt), string(l.Reason), strconv.Itoa(int(l.Attempts)),
			l.Type, plain(l.Key), plain(l.EventID))
	}
	return table.Write(w)
}

// plain makes one cell of a text that an event brought along.
func plain(text string) string {
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

func writeNames(w io.Writer, ids []int64) error {
	for _, id := range ids {
		if _, err := fmt.Fprintln(w, id); err != nil {
			return err
		}
	}
	return nil
}

func writeLines[T any](w io.Writer, values []T) error {
	for _, v := range values {
		if err := output.WriteJSON(w, output.JSONL, v); err != nil {
			return err
		}
	}
	return nil
}
