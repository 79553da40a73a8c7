package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/events"
)

func eventListCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "list",
		Short: "List events of the log, newest first",
		Long: effects("nothing.", "shows a payload.") +
			"\n\nThe newest is the one with the last position; a held event has that of its staging. It reads the log backwards\n" +
			"until it has found enough, so a filter that matches little reads a lot. What the log has forgotten is\n" +
			"not listed: relay dead-letter list has the dead letters.",
		Example: "  relay event list --type order.placed --since 2h\n  relay event list --state waiting -o name",
	})
	var filter events.Filter
	var since, until moment
	var state string
	f := c.Flags()
	f.StringVar(&filter.Type, "type", "", "Only events of this type")
	f.StringVar(&filter.Key, "key", "", "Only events of this ordering key")
	f.StringVar(&state, "state", "", "Only those in this state: "+strings.Join(wordsOf(events.States()), ", "))
	f.Var(&since, "since", "Only those that were staged at this time or later: 2h (ago), RFC 3339, or \"2026-11-29 10:00Z\"")
	f.Var(&until, "until", "Only those that were staged before this time")
	f.IntVar(&filter.Limit, "limit", 50, "How many at most")
	inGroup(c, commonFlags, "type", "key", "state", "since", "until", "limit")
	complete(c, "state", wordsOf(events.States()))
	open := eventFlags(c, p)
	format := outputFlag(c, output.Text, output.JSON, output.JSONL, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLimit(filter.Limit); err != nil {
			return err
		}
		if err := checkWords("state", wordsOf(events.States()), state); err != nil {
			return err
		}
		filter.State, filter.Since, filter.Until = events.State(state), since.at, until.at
		l, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer l.pool.Close()
		found, err := l.List(cmd.Context(), filter)
		if err != nil {
			return err
		}
		return writeEvents(cmd.OutOrStdout(), format.Format(), found, filter.Limit)
	}
	return c
}

func writeEvents(w io.Writer, format output.Format, found []events.Event, limit int) error {
	all := make([]eventReport, 0, len(found))
	for i := range found {
		all = append(all, eventOf(&found[i]))
	}
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"events": all})
	case output.JSONL:
		return writeLines(w, all)
	case output.Name:
		for _, e := range all {
			if _, err := fmt.Fprintln(w, plain(e.ID)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No events.")
		return err
	}
	count := output.Count(int64(len(all)), "event")
	if len(all) == limit {
		count += ", perhaps more: --limit shows them"
	}
	if _, err := fmt.Fprintf(w, "%s.\n\n", count); err != nil {
		return err
	}
	table := output.Table{Heads: []string{"STAGED", "STATE", "TYPE", "KEY", "BYTES", "LANE", "SEQ", "EVENT"}, Right: []bool{false, false, false, false, true, true, true}}
	for _, e := range all {
		table.Add(e.StagedAt, e.State, plain(e.Type), plain(e.Key), output.Number(int64(e.DataBytes)), strconv.Itoa(int(e.Lane)), e.Seq, plain(e.ID))
	}
	return table.Write(w)
}
