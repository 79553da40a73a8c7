package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

// statusReport is the output of relay status: a contract, only ever added to.
type statusReport struct {
	Verdict   string        `json:"verdict"`
	State     statusState   `json:"state"`
	Healthy   bool          `json:"healthy"`
	At        string        `json:"at"`
	Schema    string        `json:"schema"`
	Group     string        `json:"group"`
	LaneCount int           `json:"lane_count"`
	LiveLanes int           `json:"live_lanes"`
	Backlog   waiting       `json:"backlog"`
	Held      waiting       `json:"held"`
	Capped    bool          `json:"counts_are_lower_bounds"`
	Relays    []statusRelay `json:"relays"`
	Lanes     []statusLane  `json:"lanes"`
	// Publisher is how a relay with these settings puts events into the stream; null when they name no stream.
	Publisher *statusPublisher `json:"publisher"`
	// Retention is what the log keeps, in all groups.
	Retention *statusRetention `json:"retention,omitempty"`

	status *relay.Status
}

// waiting are events that are not in the stream.
type waiting struct {
	Events        int64   `json:"events"`
	OldestSeconds float64 `json:"oldest_seconds"`
}

type statusRelay struct {
	Owner     string `json:"owner"`
	Version   string `json:"version"`
	StartedAt string `json:"started_at"`
}

type statusLane struct {
	Lane    int16   `json:"lane"`
	Owner   string  `json:"owner"`
	Live    bool    `json:"live"`
	Paging  bool    `json:"paging"`
	Backlog waiting `json:"backlog"`
	// StreamSeq is a number, because a stream sequence counts.
	StreamSeq int64 `json:"stream_seq"`
}

func newStatusReport(s *relay.Status, schema string, publisher *statusPublisher) *statusReport {
	r := &statusReport{
		At: output.Time(s.At), Schema: schema, Group: s.Group, LaneCount: len(s.Lanes), Capped: s.Capped,
		Backlog: waiting{s.Backlog, output.Seconds(s.OldestEvent)}, Held: waiting{s.Held, output.Seconds(s.OldestHeld)},
		Relays: []statusRelay{}, Lanes: []statusLane{}, Publisher: publisher, status: s,
	}
	for _, p := range s.Relays {
		r.Relays = append(r.Relays, statusRelay{p.Owner, p.Version, output.Time(p.StartedAt)})
	}
	for _, l := range s.Lanes {
		if l.Live {
			r.LiveLanes++
		}
		r.Lanes = append(r.Lanes, statusLane{l.Lane, l.Owner, l.Live, l.Paging, waiting{l.Backlog, output.Seconds(l.Oldest)}, l.StreamSeq})
	}
	r.State, r.Verdict = judge(s, r.LiveLanes, publisher)
	r.Healthy = r.State != statusUnattended && (r.State != statusWaiting || s.Backlog == 0)
	return r
}

func (r *statusReport) write(w io.Writer, format output.Format) error {
	if format != output.Text {
		return output.WriteJSON(w, format, r)
	}
	s := r.status
	if _, err := fmt.Fprintf(w, "%s\n\n", output.Paint(w, r.State.colour(), r.Verdict)); err != nil {
		return err
	}
	totals := output.Table{Right: []bool{false, true}}
	totals.Add("backlog", output.Number(s.Backlog), oldest(s.Backlog, s.OldestEvent))
	totals.Add("held", output.Number(s.Held), oldest(s.Held, s.OldestHeld))
	if r.Retention != nil {
		r.Retention.add(&totals)
	}
	if err := totals.Write(w); err != nil {
		return err
	}
	if r.Publisher != nil {
		if _, err := fmt.Fprintf(w, "publisher  %s: %s\n", r.Publisher.Kind, r.Publisher.Reason); err != nil {
			return err
		}
	}
	if r.Retention != nil {
		for _, note := range r.Retention.notes() {
			if _, err := fmt.Fprintf(w, "\n%s\n", output.Paint(w, output.Yellow, note)); err != nil {
				return err
			}
		}
	}
	if len(s.Relays) > 0 {
		relays := output.Table{Heads: []string{"RELAY", "VERSION", "RUNS SINCE"}}
		for _, p := range s.Relays {
			relays.Add(p.Owner, p.Version, output.Time(p.StartedAt))
		}
		if err := writeBelow(w, &relays); err != nil {
			return err
		}
	}
	lanes := output.Table{Heads: []string{"LANE", "BACKLOG", "OLDEST", "STREAM SEQ", "LEASE", "OWNER"}, Right: []bool{true, true, true, true}}
	for _, l := range s.Lanes {
		age := "-"
		if l.Backlog > 0 {
			age = output.Age(l.Oldest)
		}
		lanes.Add(strconv.Itoa(int(l.Lane)), output.Number(l.Backlog), age, strconv.FormatInt(l.StreamSeq, 10), lease(l), l.Owner)
	}
	return writeBelow(w, &lanes)
}

// redraw writes the report in the place of the one before, or below it where that cannot be done.
func (r *statusReport) redraw(w io.Writer, format output.Format) error {
	before, after := "", ""
	switch {
	case format != output.Text:
	case output.IsTerminal(w):
		before = "\x1b[H\x1b[2J"
	default:
		after = "\n"
	}
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	if err := r.write(w, format); err != nil {
		return err
	}
	_, err := io.WriteString(w, after)
	return err
}

func writeBelow(w io.Writer, table *output.Table) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table.Write(w)
}

func oldest(events int64, age time.Duration) string {
	if events == 0 {
		return ""
	}
	return "the oldest for " + output.Age(age)
}

// lease says in one word how a lane is owned.
func lease(l relay.LaneStatus) string {
	switch {
	case l.Live && l.Paging:
		return "paging"
	case l.Live:
		return "live"
	case l.Owner != "":
		return "expired"
	default:
		return "free"
	}
}
