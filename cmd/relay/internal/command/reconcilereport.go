package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
)

// reconcileReport is the output of relay reconcile: a contract, only ever added to.
type reconcileReport struct {
	Verdict      string             `json:"verdict"`
	Explained    bool               `json:"explained"`
	Database     string             `json:"database"`
	Server       string             `json:"server"`
	Stream       string             `json:"stream"`
	Schema       string             `json:"schema"`
	Group        string             `json:"group"`
	Since        string             `json:"since,omitempty"`
	Until        string             `json:"until,omitempty"`
	Settled      int64              `json:"settled"`
	Present      int64              `json:"present"`
	Events       int64              `json:"events"`
	Messages     int64              `json:"messages"`
	Findings     []reconcileFinding `json:"findings"` // those that there are
	Examples     []reconcileExample `json:"examples"`
	First        uint64             `json:"first_stream_seq"`
	Last         uint64             `json:"last_stream_seq"`
	Acknowledged uint64             `json:"acknowledged_stream_seq"`
	Regressed    bool               `json:"stream_went_back"`
	Streams      []string           `json:"streams"` // that the group has published to
	Passes       int                `json:"passes"`
	Repair       *reconcileRepair   `json:"repair,omitempty"`

	planned bool // --repair without --apply
	window  string
}

type reconcileFinding struct {
	Finding   reconcile.Class `json:"finding"`
	Count     int64           `json:"count"`
	Explained bool            `json:"explained"`
	Meaning   string          `json:"meaning"`
}

type reconcileExample struct {
	Finding   reconcile.Class `json:"finding"`
	EventID   string          `json:"event_id"`
	MessageID string          `json:"message_id"`
	Lane      int16           `json:"lane"`
	Number    string          `json:"number,omitempty"` // in the log
	StreamSeq uint64          `json:"stream_seq,omitempty"`
}

type reconcileRepair struct {
	Published  int64 `json:"published"`
	Remembered int64 `json:"remembered"`
	Refused    int64 `json:"refused"`
	Gone       int64 `json:"gone"`
}

// meanings say what each finding is.
var meanings = map[reconcile.Class]string{
	reconcile.Missing:    "settled, and not in the stream",
	reconcile.Duplicated: "stored more than once",
	reconcile.Changed:    "stored with other data or attributes than the log has",
	reconcile.Disordered: "stored before an earlier event of its key",
	reconcile.Held:       "in the stream, though the log holds it back",
	reconcile.Foreign:    "from a source of the log, which does not have it",
	reconcile.Expired:    "dropped by the limits of the stream, as it is so old",
	reconcile.Late:       "published on its own after later events of its key: repaired or requeued",
	reconcile.Unjudged:   "older than what the log still has",
	reconcile.Other:      "of another source, or no event",
	reconcile.Replayed:   "published by relay replay",
}

func newReconcileReport(r *reconcile.Report, database, server string, planned bool) *reconcileReport {
	out := &reconcileReport{
		Explained: r.Unexplained() == 0, Database: database, Server: server, Stream: r.Stream, Schema: r.Schema, Group: r.Group,
		Settled: r.Settled, Present: r.Present, Events: r.Events, Messages: r.Messages, Findings: []reconcileFinding{}, Examples: []reconcileExample{},
		First: r.First, Last: r.Last, Acknowledged: r.Acknowledged, Regressed: r.Regressed, Streams: r.Streams, Passes: r.Passes,
		planned: planned, window: r.Window.String(),
	}
	if !r.Since.IsZero() {
		out.Since = output.Time(r.Since)
	}
	if !r.Until.IsZero() {
		out.Until = output.Time(r.Until)
	}
	for _, class := range reconcile.Classes() {
		if n := r.Counts[class]; n > 0 {
			out.Findings = append(out.Findings, reconcileFinding{class, n, !class.Unexplained(), meanings[class]})
		}
	}
	for _, e := range r.Examples {
		example := reconcileExample{Finding: e.Class, EventID: e.EventID, MessageID: e.MessageID, Lane: e.Lane, StreamSeq: e.StreamSeq}
		if e.Seq != 0 {
			example.Number = strconv.FormatInt(e.Seq, 10)
		}
		out.Examples = append(out.Examples, example)
	}
	if r.Repair != nil {
		repair := reconcileRepair(*r.Repair)
		out.Repair = &repair
	}
	out.Verdict = verdictOf(r)
	return out
}

func verdictOf(r *reconcile.Report) string {
	missing := r.Counts[reconcile.Missing]
	switch n := r.Unexplained(); {
	case n == 0 && r.Repair != nil && missing > 0:
		return fmt.Sprintf("Repaired: %s missing from stream %s, and there again now.", were(missing), r.Stream)
	case n == 0:
		return fmt.Sprintf("Sound: stream %s has all %s, and nothing is unexplained.", r.Stream, output.Count(r.Settled-r.Counts[reconcile.Expired], "settled event"))
	case r.Repair == nil && n == missing:
		return fmt.Sprintf("Not sound: %s of %s %s missing from stream %s.", output.Number(n), output.Count(r.Settled, "settled event"), isOrAre(n), r.Stream)
	default:
		return fmt.Sprintf("Not sound: %s %s unexplained in stream %s.", output.Count(n, "finding"), isOrAre(n), r.Stream)
	}
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (r *reconcileReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	colour := output.Red
	if r.Explained {
		colour = output.Green
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", output.Paint(w, colour, r.Verdict)); err != nil {
		return err
	}
	totals := output.Table{Right: []bool{false, true}}
	totals.Add("settled", output.Number(r.Settled), "in "+r.Database)
	totals.Add("present", output.Number(r.Present), "of "+output.Count(r.Messages, "message")+" on "+r.Server)
	for _, f := range r.Findings {
		totals.Add(string(f.Finding), output.Number(f.Count), f.Meaning)
	}
	if err := totals.Write(w); err != nil {
		return err
	}
	if len(r.Examples) > 0 {
		table := output.Table{Heads: []string{"FINDING", "LANE", "NUMBER", "STREAM SEQ", "EVENT", "MESSAGE ID"}, Right: []bool{false, true, true, true}}
		for _, e := range r.Examples {
			lane, seq := "-", "-"
			if e.Number != "" {
				lane = strconv.Itoa(int(e.Lane))
			}
			if e.StreamSeq != 0 {
				seq = strconv.FormatUint(e.StreamSeq, 10)
			}
			table.Add(string(e.Finding), lane, dash(e.Number), seq, dash(e.EventID), dash(e.MessageID))
		}
		if err := writeBelow(w, &table); err != nil {
			return err
		}
	}
	for _, note := range r.notes() {
		if _, err := fmt.Fprintf(w, "\n%s\n", note); err != nil {
			return err
		}
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// notes are what a person should know or do.
func (r *reconcileReport) notes() []string {
	var notes []string
	missing := int64(0)
	for _, f := range r.Findings {
		if f.Finding == reconcile.Missing {
			missing = f.Count
		}
	}
	if len(r.Streams) > 0 && !slices.Contains(r.Streams, r.Stream) {
		notes = append(notes, fmt.Sprintf("No relay of group %s has published to stream %s, only to %s.", r.Group, r.Stream, strings.Join(r.Streams, ", ")))
	}
	if r.Regressed {
		notes = append(notes, fmt.Sprintf("The stream went back: it ends at %d, and %d was acknowledged. It was restored or made anew.", r.Last, r.Acknowledged))
	}
	switch repair := r.Repair; {
	case repair == nil && missing > 0 && r.planned:
		notes = append(notes, fmt.Sprintf("Nothing was published: add --apply to publish %s again.", output.Count(missing, "event")))
	case repair == nil && missing > 0 && !r.planned:
		notes = append(notes, "relay reconcile --repair publishes missing events again, under their ids.")
	case repair != nil:
		if missing > 0 {
			notes = append(notes, fmt.Sprintf("Published %s again.", output.Count(repair.Published, "event")))
		}
		if repair.Remembered > 0 {
			notes = append(notes, fmt.Sprintf("The stream still remembers the ids of %s and did not store them: repeat this after its dedup window (%s).",
				output.Count(repair.Remembered, "event"), r.window))
		}
		if repair.Refused > 0 {
			notes = append(notes, fmt.Sprintf("The broker refused %s.", output.Count(repair.Refused, "event")))
		}
	}
	return notes
}
