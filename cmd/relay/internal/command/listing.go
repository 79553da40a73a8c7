package command

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
)

// listing is what a command shows of things with ids, oldest first, of which there may be more.
type listing[T any] struct {
	member    string // of the JSON document
	one, many string // the noun
	none      string // the line when there is nothing
	total     int64  // also beyond the limit
	all       []T
	ids       []int64
	table     *output.Table
}

func (l *listing[T]) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": l.total, l.member: l.all})
	case output.JSONL:
		return writeLines(w, l.all)
	case output.Name:
		return writeNames(w, texts(l.ids), itself)
	}
	if len(l.all) == 0 {
		_, err := fmt.Fprintln(w, l.none)
		return err
	}
	count := plural(l.total, l.one, l.many)
	if int64(len(l.all)) < l.total {
		count = fmt.Sprintf("%s of %s, oldest first: --limit shows more", output.Number(int64(len(l.all))), count)
	}
	if _, err := fmt.Fprintf(w, "%s.\n\n", count); err != nil {
		return err
	}
	return l.table.Write(w)
}

// excerpt is what a command shows of things of which there may be more, which nobody counts.
type excerpt[T any] struct {
	member, noun, none string // as listing has them
	limit              int
	all                []T
	name               func(T) string
	table              *output.Table
}

func (e *excerpt[T]) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{e.member: e.all})
	case output.JSONL:
		return writeLines(w, e.all)
	case output.Name:
		return writeNames(w, e.all, e.name)
	}
	return writeExcerpt(w, len(e.all), e.limit, e.noun, e.none, e.table)
}

// writeExcerpt writes, for people, rows of which there may be more than the limit.
func writeExcerpt(w io.Writer, n, limit int, noun, none string, table *output.Table) error {
	if n == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	count := output.Count(int64(n), noun)
	if n == limit {
		count += ", perhaps more: --limit shows them"
	}
	if _, err := fmt.Fprintf(w, "%s.\n\n", count); err != nil {
		return err
	}
	return table.Write(w)
}

// writeNames writes what tells each value from the others, a line each.
func writeNames[T any](w io.Writer, values []T, name func(T) string) error {
	for _, v := range values {
		if _, err := fmt.Fprintln(w, name(v)); err != nil {
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

// itself is the name of a text.
func itself(text string) string { return text }

// groupByFlag gives a list of dead letters the flag that counts them.
func groupByFlag(c *cobra.Command) *[]string {
	names := c.Flags().StringSlice("group-by", nil, "Count by reason, by type, or by both: reason,type")
	inGroup(c, commonFlags, "group-by")
	complete(c, "group-by", []string{"reason", "type", "reason,type"})
	return names
}

// counted is a row of a table of groups.
type counted struct {
	count          int64
	is             []string // what else tells the group from others
	reason, kind   string
	oldest, newest time.Time
}

// countTable shows groups; heads are those of what else tells them apart.
func countTable(groups []counted, byReason, byType bool, heads ...string) *output.Table {
	table := &output.Table{Heads: append([]string{"COUNT"}, heads...), Right: []bool{true}}
	if byReason {
		table.Heads = append(table.Heads, "REASON")
	}
	if byType {
		table.Heads = append(table.Heads, "TYPE")
	}
	table.Heads = append(table.Heads, "OLDEST", "NEWEST")
	for _, g := range groups {
		row := append([]string{output.Number(g.count)}, g.is...)
		if byReason {
			row = append(row, g.reason)
		}
		if byType {
			row = append(row, plain(g.kind))
		}
		table.Add(append(row, output.Time(g.oldest), output.Time(g.newest))...)
	}
	return table
}

// writeGroupList writes groups of dead letters: all as JSON has them, or the table.
func writeGroupList[T any](w io.Writer, format output.Format, total int64, all []T, table *output.Table) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"total": total, "groups": all})
	case output.JSONL:
		return writeLines(w, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No dead letters.")
		return err
	}
	return table.Write(w)
}
