package command

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// pruneReport is the output of relay prune: a contract, only ever added to. Events, Oldest and Newest
// are of the slots that can be emptied.
type pruneReport struct {
	Database    string       `json:"database"`
	Schema      string       `json:"schema"`
	Applied     bool         `json:"applied"`
	KeepSeconds float64      `json:"keep_seconds"`
	Events      int64        `json:"events"`
	Held        int64        `json:"held"` // to be moved
	Oldest      string       `json:"oldest,omitempty"`
	Newest      string       `json:"newest,omitempty"`
	Slots       []pruneSlot  `json:"slots"`
	Emptied     []int16      `json:"emptied"`
	Moved       int64        `json:"moved"`
	Refused     []pruneBlock `json:"refused"`
	Removed     pruneRecords `json:"removed_records"`
	// Taken says that another pod is at it.
	Taken bool `json:"taken"`

	oldest, newest time.Time
}

type pruneSlot struct {
	Slot   int16  `json:"slot"`
	State  string `json:"state"`
	Why    string `json:"why,omitempty"`
	Events int64  `json:"events"`
	Held   int64  `json:"held"`
	Bytes  int64  `json:"bytes"`
	Oldest string `json:"oldest,omitempty"`
	Newest string `json:"newest,omitempty"`
}

type pruneBlock struct {
	Slot    int16  `json:"slot"`
	Because string `json:"because"`
	Why     string `json:"why"`
}

type pruneRecords struct {
	Batches int64 `json:"batches"`
	History int64 `json:"history"`
	Audit   int64 `json:"audit"`
}

func newPruneReport(s *retention.State, counts map[int16]retention.Count, database, schema string) *pruneReport {
	r := &pruneReport{Database: database, Schema: schema, KeepSeconds: output.Seconds(s.Keep), Slots: []pruneSlot{}, Emptied: []int16{}, Refused: []pruneBlock{}}
	for _, slot := range s.Slots {
		count := counts[slot.Slot]
		row := pruneSlot{Slot: slot.Slot, State: string(slot.Outcome), Why: slot.Why, Events: count.Events, Held: count.Held, Bytes: slot.Bytes}
		if count.Events > 0 {
			row.Oldest, row.Newest = output.Time(count.Oldest), output.Time(count.Newest)
		}
		r.Slots = append(r.Slots, row)
		switch slot.Outcome {
		case retention.Ready, retention.Held:
			r.add(count)
		case retention.Empty, retention.Current, retention.Young:
		default:
			r.Refused = append(r.Refused, pruneBlock{slot.Slot, string(slot.Outcome), slot.Why})
		}
	}
	if !r.oldest.IsZero() {
		r.Oldest, r.Newest = output.Time(r.oldest), output.Time(r.newest)
	}
	return r
}

// add counts a slot that can be emptied.
func (r *pruneReport) add(c retention.Count) {
	r.Events += c.Events - c.Held
	r.Held += c.Held
	if c.Events > 0 && (r.oldest.IsZero() || c.Oldest.Before(r.oldest)) {
		r.oldest = c.Oldest
	}
	if c.Newest.After(r.newest) {
		r.newest = c.Newest
	}
}

// ready counts the slots that can be emptied.
func (r *pruneReport) ready() (n int) {
	for _, slot := range r.Slots {
		if slot.State == string(retention.Ready) || slot.State == string(retention.Held) {
			n++
		}
	}
	return n
}

func (r *pruneReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	head := fmt.Sprintf("Nothing to empty in %s", r.Database)
	if n := r.ready(); n > 0 {
		head = fmt.Sprintf("%s of %s can be emptied: %s, staged from %s to %s", output.Count(int64(n), "slot"), r.Database, output.Count(r.Events, "event"), r.Oldest, r.Newest)
	}
	if _, err := fmt.Fprintf(w, "%s; events stay for %s at least.\n\n", head, output.Age(time.Duration(r.KeepSeconds*float64(time.Second)))); err != nil {
		return err
	}
	table := output.Table{Heads: []string{"SLOT", "STATE", "EVENTS", "HELD", "KIB", "OLDEST", "NEWEST", "WHY"}, Right: []bool{true, false, true, true, true}}
	for _, s := range r.Slots {
		table.Add(strconv.Itoa(int(s.Slot)), s.State, output.Number(s.Events), output.Number(s.Held), output.Number(s.Bytes/1024), s.Oldest, s.Newest, s.Why)
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if r.Held > 0 {
		_, err := fmt.Fprintf(w, "\n%s will be moved out of the way, and stay held.\n", output.Count(r.Held, "held event"))
		return err
	}
	return nil
}

// apply notes what was done, in one of several attempts.
func (r *pruneReport) apply(done *retention.Report) {
	r.Applied, r.Taken = true, done.Taken
	r.Moved += done.Moved
	r.Removed.Batches += done.Pruned.Batches
	r.Removed.History += done.Pruned.History
	r.Removed.Audit += done.Pruned.Audit
	r.Refused = []pruneBlock{}
	for _, step := range done.Refused {
		r.Refused = append(r.Refused, pruneBlock{step.Slot, string(step.Outcome), step.Why})
	}
	for _, step := range done.Emptied {
		r.Emptied = append(r.Emptied, step.Slot)
	}
}

func (r *pruneReport) writeApplied(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	if r.Taken {
		_, err := fmt.Fprintf(w, "\nNothing was done: a relay is at it.\n")
		return err
	}
	removed := r.Removed.Batches + r.Removed.History + r.Removed.Audit
	if _, err := fmt.Fprintf(w, "\nEmptied %s, moved %s, removed %s.\n", output.Count(int64(len(r.Emptied)), "slot"),
		output.Count(r.Moved, "held event"), output.Count(removed, "old record")); err != nil {
		return err
	}
	for _, slot := range r.Refused {
		if _, err := fmt.Fprintf(w, "Slot %d was not emptied, it is %s: %s.\n", slot.Slot, slot.Because, slot.Why); err != nil {
			return err
		}
	}
	return nil
}
