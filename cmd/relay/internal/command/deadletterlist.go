package command

import (
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
	groupBy := groupByFlag(c)
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
			return writeGroupList(cmd.OutOrStdout(), format.Format(), countOf(groups), groupsOf(groups), groupTable(groups, byReason, byType))
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

func groupTable(groups []retry.Group, byReason, byType bool) *output.Table {
	all := make([]counted, len(groups))
	for i, g := range groups {
		all[i] = counted{count: g.Count, reason: string(g.Reason), kind: g.Type, oldest: g.Oldest, newest: g.Newest}
	}
	return countTable(all, byReason, byType)
}

func writeDeadLetters(w io.Writer, format output.Format, list []retry.DeadLetter, total int64) error {
	l := listing[deadLetter]{member: "dead_letters", one: "dead letter", many: "dead letters", none: "No dead letters.", total: total, all: deadLettersOf(list)}
	l.table = &output.Table{Heads: []string{"ID", "DEAD SINCE", "REASON", "ATTEMPTS", "TYPE", "KEY", "EVENT"}, Right: []bool{true, false, false, true}}
	for _, d := range list {
		l.ids = append(l.ids, d.ID)
		l.table.Add(strconv.FormatInt(d.ID, 10), output.Time(d.DeadAt), string(d.Reason), strconv.Itoa(int(d.Attempts)),
			d.Type, plain(d.Key), plain(d.EventID))
	}
	return l.write(w, format)
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
