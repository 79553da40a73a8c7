package command

import (
	"fmt"
	"io"
	"strconv"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/replay"
)

// replayReport is the output of relay replay: a contract, only ever added to.
type replayReport struct {
	Database   string `json:"database"`
	Server     string `json:"server"`
	Stream     string `json:"stream"`
	Schema     string `json:"schema"`
	Group      string `json:"group"`
	Subjects   string `json:"subjects"`
	Epoch      string `json:"epoch"`
	Events     int64  `json:"events"`
	Bytes      int64  `json:"bytes"` // of all in the window
	Held       int64  `json:"held"`
	OnTheirWay int64  `json:"on_their_way"`
	Strays     int64  `json:"strays"` // whose subjects the stream does not have, of all in the window
	Oldest     string `json:"oldest,omitempty"`
	Newest     string `json:"newest,omitempty"`
	Applied    bool   `json:"applied"`
	Published  int64  `json:"published"`
	Refused    int64  `json:"refused"`
	// Last is the number in the log to go on behind.
	Last string `json:"last_number,omitempty"`
}

func newReplayReport(plan *replay.Plan, database, server string) *replayReport {
	r := &replayReport{
		Database: database, Server: server, Stream: plan.Stream, Schema: plan.Schema, Group: plan.Group, Subjects: plan.Subjects,
		Epoch: strconv.FormatInt(plan.Epoch, 10), Events: plan.Events, Bytes: plan.Bytes, Held: plan.Held, OnTheirWay: plan.OnTheirWay,
	}
	if !plan.Oldest.IsZero() {
		r.Oldest, r.Newest = output.Time(plan.Oldest), output.Time(plan.Newest)
	}
	return r
}

func (r *replayReport) write(w io.Writer, format output.Format, applying bool) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	table := output.Table{Right: []bool{false, true}}
	table.Add("events", output.Number(r.Events), "settled for group "+r.Group+" in "+r.Database)
	if r.Oldest != "" {
		table.Add("oldest", "", r.Oldest)
		table.Add("newest", "", r.Newest)
	}
	table.Add("stream", "", r.Stream+" on "+r.Server)
	table.Add("subjects", "", r.Subjects)
	table.Add("message ids", "", "with .r"+r.Epoch)
	if r.Held > 0 {
		table.Add("held", output.Number(r.Held), "not replayed")
	}
	if r.OnTheirWay > 0 {
		table.Add("on their way", output.Number(r.OnTheirWay), "not replayed: to be drained, waiting or given up")
	}
	if r.Strays > 0 {
		table.Add("left out", output.Number(r.Strays), "the stream does not have their subjects")
	}
	verdict := fmt.Sprintf("Replay would publish %s again.", output.Count(r.Events, "event"))
	if r.Events == 0 {
		verdict = "Nothing to replay: no settled event is chosen."
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", verdict); err != nil {
		return err
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if !applying && r.Events > 0 {
		_, err := fmt.Fprintln(w, "\nNothing was published: add --apply.")
		return err
	}
	return nil
}

// done notes what was done.
func (r *replayReport) done(result replay.Result) {
	r.Applied, r.Published, r.Refused, r.Last = true, result.Published, result.Refused, strconv.FormatInt(result.Last, 10)
}

func (r *replayReport) writeDone(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	_, err := fmt.Fprintf(w, "\nReplayed %s under epoch %s.\n", output.Count(r.Published, "event"), r.Epoch)
	return err
}
