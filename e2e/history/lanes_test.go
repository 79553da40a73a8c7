package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// insert puts a change of the lane before its last settle.
func insert(h *history.History, session string, change func(*history.Lane)) *history.Move {
	i := len(h.Moves) - 2
	before := h.Moves[i-1].After
	after := before
	change(&after)
	now := h.Moves[i-1].At.Add(time.Millisecond)
	h.Moves = append(h.Moves[:i:i], append([]history.Move{{Began: now, At: now, Session: session, Before: before, After: after}}, h.Moves[i:]...)...)
	for ; i+1 < len(h.Moves)-1; i++ { // those that follow begin where it ended, until the hand-back
		drained := h.Moves[i+1].After.Drained
		h.Moves[i+1].Before, h.Moves[i+1].After = h.Moves[i].After, h.Moves[i].After
		h.Moves[i+1].After.Drained = drained
	}
	return &h.Moves[len(h.Moves)-3]
}

func nothing(*history.Lane) {}

// wrongLanes are histories in which a lane was mistreated.
var wrongLanes = []struct {
	name   string
	damage func(*history.History)
	want   map[string]int
}{
	{
		"a renewal by the owner",
		func(h *history.History) {
			insert(h, "relay-1", func(l *history.Lane) { l.Until = l.Until.Add(time.Second) })
		},
		nil,
	},
	{
		"a settle by somebody else",
		func(h *history.History) { h.Moves[1].Session = "relay-2" },
		map[string]int{"fencing": 1},
	},
	{
		"a settle after the lease",
		func(h *history.History) {
			m := &h.Moves[len(h.Moves)-2]
			m.Began = m.Before.Until.Add(time.Millisecond)
			m.At = m.Began
		},
		map[string]int{"fencing": 1},
	},
	{
		"a settle that was judged in time and was slow",
		func(h *history.History) {
			m := &h.Moves[len(h.Moves)-2]
			m.At = m.Before.Until.Add(time.Millisecond)
		},
		nil,
	},
	{
		"a renewal by somebody else",
		func(h *history.History) {
			insert(h, "relay-2", func(l *history.Lane) { l.Until = l.Until.Add(time.Second) })
		},
		map[string]int{"fencing": 1},
	},
	{
		"a renewal of a lease that is over",
		func(h *history.History) {
			m := insert(h, "relay-1", func(l *history.Lane) { l.Until = at(300_000) })
			m.Began, m.At = at(200_000), at(200_000)
		},
		map[string]int{"fencing": 1},
	},
	{
		"an end of a lease that is over",
		func(h *history.History) {
			m := insert(h, "relay-1", func(l *history.Lane) { l.Until = at(200_000) })
			m.Began, m.At = at(200_000), at(200_000)
		},
		nil,
	},
	{
		"a claim of a lane that is taken",
		func(h *history.History) {
			insert(h, "relay-2", func(l *history.Lane) { l.Owner, l.Token = "relay-2", "token-2" })
			h.Moves[len(h.Moves)-2].Session, h.Moves[len(h.Moves)-1].Session = "relay-2", "relay-2"
			h.Moves[len(h.Moves)-1].Before.Owner = "relay-2"
		},
		map[string]int{"fencing": 1},
	},
	{
		"a claim that moves the cursor",
		func(h *history.History) {
			h.Moves[0].After.Drained = snapshot(50)
			h.Moves[1].Before.Drained = snapshot(50)
		},
		map[string]int{"fencing": 1},
	},
	{
		"a claim for somebody else",
		func(h *history.History) { h.Moves[0].Session = "relay-2" },
		map[string]int{"fencing": 1},
	},
	{
		"a hand-back by somebody else",
		func(h *history.History) { h.Moves[len(h.Moves)-1].Session = "relay-2" },
		map[string]int{"fencing": 1},
	},
	{
		"a cursor that goes back",
		func(h *history.History) {
			insert(h, "relay-1", func(l *history.Lane) { l.Drained = snapshot(2) })
		},
		map[string]int{"cursor_forward": 1},
	},
	{
		"a cursor that forgets a transaction",
		func(h *history.History) {
			insert(h, "relay-1", func(l *history.Lane) { l.Drained.Min, l.Drained.Running = 102, []uint64{102} })
		},
		map[string]int{"cursor_forward": 1},
	},
	{
		"a paging that is given up",
		func(h *history.History) {
			target := snapshot(900)
			insert(h, "relay-1", func(l *history.Lane) { l.Target, l.Position = &target, 0 })
			last := &h.Moves[len(h.Moves)-2]
			last.After.Target = nil
		},
		map[string]int{"cursor_forward": 1},
	},
	{
		"a change that the record does not have",
		func(h *history.History) {
			insert(h, "relay-1", nothing)
			h.Moves[len(h.Moves)-3].Before.Drained = snapshot(101)
		},
		map[string]int{"cursor_forward": 1},
	},
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s, err := history.ParseSnapshot("10:20:12,15")
	if err != nil {
		t.Fatal(err)
	}
	var seen []uint64
	for tx := uint64(8); tx < 22; tx++ {
		if s.Sees(tx) {
			seen = append(seen, tx)
		}
	}
	if diff := cmp.Diff([]uint64{8, 9, 10, 11, 13, 14, 16, 17, 18, 19}, seen); diff != "" {
		t.Errorf("sees (-want +got):\n%s", diff)
	}
	if got := s.String(); got != "10:20:12,15" {
		t.Errorf("text %q", got)
	}
	for _, c := range []struct {
		other string
		want  bool
	}{
		{"10:20:12,15", true}, {"10:10:", true}, {"1:1:", true}, {"12:13:12", true}, {"10:20:11,12,15", true},
		{"10:21:12,15", false}, {"13:13:", false}, {"12:20:12", false},
	} {
		other, err := history.ParseSnapshot(c.other)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Includes(other); got != c.want {
			t.Errorf("includes %s: %t", c.other, got)
		}
	}
	for _, text := range []string{"", "1:2", "x:2:", "1:x:", "1:2:x"} {
		if _, err := history.ParseSnapshot(text); err == nil {
			t.Errorf("parsed %q", text)
		}
	}
}

func TestLaneSettled(t *testing.T) {
	t.Parallel()
	target := snapshot(20)
	lane := history.Lane{Drained: snapshot(10), Target: &target, Position: 5}
	for _, c := range []struct {
		tx       uint64
		position int64
		want     bool
	}{
		{9, 100, true}, {10, 5, true}, {19, 5, true}, {10, 6, false}, {20, 1, false}, {0, 1, false},
	} {
		if got := lane.Settled(c.tx, c.position); got != c.want {
			t.Errorf("transaction %d at %d: %t", c.tx, c.position, got)
		}
	}
}
