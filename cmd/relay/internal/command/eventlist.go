package command

import (
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
		if err := checkWindow(since, until); err != nil {
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
	e := excerpt[eventReport]{member: "events", noun: "event", none: "No events.", limit: limit, all: make([]eventReport, len(found)),
		name: func(e eventReport) string { return plain(e.ID) }}
	e.table = &output.Table{Heads: []string{"STAGED", "STATE", "TYPE", "KEY", "BYTES", "LANE", "SEQ", "EVENT"}, Right: []bool{false, false, false, false, true, true, true}}
	for i := range found {
		r := eventOf(&found[i])
		e.all[i] = r
		e.table.Add(r.StagedAt, r.State, plain(r.Type), plain(r.Key), output.Number(int64(r.DataBytes)), strconv.Itoa(int(r.Lane)), r.Seq, plain(r.ID))
	}
	return e.write(w, format)
}
