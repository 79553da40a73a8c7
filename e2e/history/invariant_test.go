package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

func TestNothingIsWrongWithASoundHistory(t *testing.T) {
	t.Parallel()
	got := sound().Judge()
	if !got.OK() || got.String() != "" {
		t.Errorf("findings:\n%s", got)
	}
	if len(got.Violations) != len(history.Invariants()) {
		t.Errorf("counts of %d invariants, there are %d", len(got.Violations), len(history.Invariants()))
	}
}

// find returns the index of the first copy of an event in the stream.
func find(h *history.History, e history.Event) int {
	return slices.IndexFunc(h.Stream, func(m history.Message) bool { return m.Name == e.Name })
}

// remove takes an event out of the stream, and everything that tells of it, so that nothing but
// its absence is wrong.
func remove(h *history.History, e history.Event) {
	i := find(h, e)
	sequence := h.Stream[i].Sequence
	h.Stream = slices.Delete(h.Stream, i, i+1)
	renumber(h)
	h.Acks = slices.DeleteFunc(h.Acks, func(a history.Ack) bool { return a.Sequence == sequence })
	h.Reads = slices.DeleteFunc(h.Reads, func(r history.Read) bool { return r.Sequence == sequence })
	h.Effects = slices.DeleteFunc(h.Effects, func(f history.Effect) bool { return f.Name == e.Name })
	for i := range h.Acks {
		if h.Acks[i].Sequence > sequence {
			h.Acks[i].Sequence--
		}
	}
	for i := range h.Reads {
		if h.Reads[i].Sequence > sequence {
			h.Reads[i].Sequence--
		}
	}
	h.Counters = nil
}

func renumber(h *history.History) {
	for i := range h.Stream {
		h.Stream[i].Sequence = uint64(i + 1)
	}
}

// add puts a message at the end of the stream, as if it had been published.
func add(h *history.History, e history.Event) *history.Message {
	id := history.MessageID(e.Name)
	h.Publications = append(h.Publications, history.Publication{MessageID: id})
	last := h.Stream[len(h.Stream)-1]
	h.Stream = append(h.Stream, history.Message{Event: e, MessageID: id, Sequence: last.Sequence + 1, At: last.At.Add(time.Millisecond)})
	return &h.Stream[len(h.Stream)-1]
}

// unsettle undoes the last settle, and what came after it.
func unsettle(h *history.History, events int64) {
	h.Moves = h.Moves[:len(h.Moves)-2]
	h.Settled -= events
}

// swap lets two messages change places, and everything that tells of them follow.
func swap(h *history.History, i, j int) {
	h.Stream[i].Event, h.Stream[j].Event = h.Stream[j].Event, h.Stream[i].Event
	a, b := h.Stream[i].MessageID, h.Stream[j].MessageID
	h.Stream[i].MessageID, h.Stream[j].MessageID = b, a
	for k := range h.Acks {
		switch h.Acks[k].MessageID {
		case a:
			h.Acks[k].MessageID = b
		case b:
			h.Acks[k].MessageID = a
		}
	}
	for k := range h.Reads {
		switch h.Reads[k].MessageID {
		case a:
			h.Reads[k].MessageID = b
		case b:
			h.Reads[k].MessageID = a
		}
	}
}

// takeOver has a relay claim the lane at a time, and store an event once more much later.
func takeOver(h *history.History, relay string, claimed time.Time) {
	m := add(h, event("b", 1))
	m.At = at(200_000)
	h.Acks = append(h.Acks, history.Ack{Relay: relay, MessageID: m.MessageID, Sequence: m.Sequence})
	before := h.Moves[len(h.Moves)-1].After
	after := before
	after.Owner, after.Token, after.Until = relay, "token-2", at(300_000)
	h.Moves = append(h.Moves, history.Move{Began: claimed, At: claimed, Session: relay, Before: before, After: after})
}

// TestEachFaultIsSeen is the proof that the checker can fail, and by which invariant.
func TestEachFaultIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(wrong, wrongLanes, wrongRollbacks, wrongEffects) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := sound()
			c.damage(h)
			report := h.Judge()
			got := map[string]int{}
			for name, n := range report.Violations {
				if n > 0 {
					got[name] = n
				}
			}
			want := c.want
			if want == nil {
				want = map[string]int{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s\n%s", diff, report)
			}
			if report.OK() != (len(want) == 0) {
				t.Errorf("ok is %t", report.OK())
			}
			if strings.Contains(report.String(), "%!") {
				t.Errorf("findings:\n%s", report)
			}
		})
	}
}

// Each invariant is seen red at least once.
func TestEachInvariantCanFail(t *testing.T) {
	t.Parallel()
	red := map[string]bool{}
	for _, c := range slices.Concat(wrong, wrongLanes, wrongRollbacks, wrongEffects) {
		for name := range c.want {
			red[name] = true
		}
	}
	for _, invariant := range history.Invariants() {
		if !red[invariant.Name] {
			t.Errorf("no wrong history for %s", invariant.Name)
		}
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	h := sound()
	for i := range 1000 {
		add(h, event(fmt.Sprint("x", i), 1))
	}
	got := h.Judge()
	if got.Violations["no_phantom"] != 1000 || len(got.Findings) != 10 {
		t.Errorf("%d phantoms, %d findings; want 1000 and 10", got.Violations["no_phantom"], len(got.Findings))
	}
}
