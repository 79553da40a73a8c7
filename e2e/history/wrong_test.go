package history_test

import (
	"time"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// wrong are histories with one fault each. want are the invariants that see it.
var wrong = []struct {
	name   string
	damage func(*history.History)
	want   map[string]int
}{
	{
		"an event is missing that no cursor has passed",
		func(h *history.History) { remove(h, event("b", 1)); unsettle(h, 1) },
		map[string]int{"no_loss": 1},
	},
	{
		"an event is late",
		func(h *history.History) {
			remove(h, event("b", 1))
			unsettle(h, 1)
			h.Limits.Drained = time.Time{}
		},
		map[string]int{"liveness": 1},
	},
	{
		"an event that was refused waits still",
		func(h *history.History) {
			remove(h, event("w", 1))
			h.Waits = h.Waits[:1]
			h.Settled--
			h.Limits.Drained = time.Time{}
		},
		map[string]int{"liveness": 1},
	},
	{
		"an event is missing that was settled",
		func(h *history.History) { remove(h, event("b", 1)) },
		map[string]int{"no_loss": 1, "settled_implies_present": 1},
	},
	{
		"a released event is missing",
		func(h *history.History) { remove(h, event("r", 2)) },
		map[string]int{"no_loss": 1, "settled_implies_present": 1},
	},
	{
		"an event is missing whose commit had no answer",
		func(h *history.History) { remove(h, event("a", 4)) },
		map[string]int{"no_loss": 1, "settled_implies_present": 1},
	},
	{
		"the broker lost what it had acknowledged",
		func(h *history.History) { h.Stream = h.Stream[:len(h.Stream)-1] },
		map[string]int{"no_loss": 1, "settled_implies_present": 1, "stream_sequence": 2},
	},
	{
		"an event that was rolled back is in the stream",
		func(h *history.History) { add(h, event("a", 3)) },
		map[string]int{"no_phantom": 1, "key_order": 1},
	},
	{
		"an event is in the stream whose commit had no answer and did not happen",
		func(h *history.History) { add(h, event("a", 5)) },
		map[string]int{"no_phantom": 1},
	},
	{
		"an event that nobody staged is in the stream",
		func(h *history.History) { add(h, event("x", 1)) },
		map[string]int{"no_phantom": 1},
	},
	{
		"an event is in the stream before its commit",
		func(h *history.History) { h.Stages[len(h.Stages)-1].Begin = at(100_000) },
		map[string]int{"no_phantom": 1},
	},
	{
		"a dropped event is in the stream",
		func(h *history.History) { add(h, event("d", 1)) },
		map[string]int{"hold_safety": 1},
	},
	{
		"a held event is in the stream",
		func(h *history.History) { add(h, event("o", 1)) },
		map[string]int{"hold_safety": 1},
	},
	{
		"released events were in the stream before their release",
		func(h *history.History) { h.Decisions[0].Begin = at(100_000) },
		map[string]int{"hold_safety": 2},
	},
	{
		"released events are in the stream, and nobody asked for a release",
		func(h *history.History) { h.Decisions = h.Decisions[1:] },
		map[string]int{"hold_safety": 2},
	},
	{
		"the cursor passed an event before it was stored",
		func(h *history.History) {
			early := h.Stream[len(h.Stream)-1].At.Add(-5 * time.Millisecond)
			h.Moves[len(h.Moves)-2].Began, h.Moves[len(h.Moves)-2].At = early, early
		},
		map[string]int{"settled_implies_present": 1},
	},
	{
		"an event is in the stream twice within the window",
		func(h *history.History) { add(h, event("b", 1)) },
		map[string]int{"bounded_duplicates": 1},
	},
	{
		"an event is in the stream twice, and was published once",
		func(h *history.History) {
			add(h, event("b", 1)).At = at(200_000)
			h.Publications = h.Publications[:len(h.Publications)-1]
		},
		map[string]int{"bounded_duplicates": 1},
	},
	{
		"an event is in the stream twice, long after one another",
		func(h *history.History) { add(h, event("b", 1)).At = at(200_000) },
		nil,
	},
	{
		"an event is in the stream twice, and the broker was disrupted between",
		func(h *history.History) {
			m := add(h, event("b", 1))
			h.Limits.Disruptions = []history.Span{{From: m.At.Add(-time.Microsecond), To: m.At, What: "kill"}}
		},
		nil,
	},
	{
		"a relay stores again what its predecessor stored before it claimed the lane",
		func(h *history.History) { takeOver(h, "relay-2", at(150_000)) },
		map[string]int{"exact_handover": 1},
	},
	{
		"the same with an acknowledgement of a batch",
		func(h *history.History) {
			takeOver(h, "relay-2", at(150_000))
			last := &h.Acks[len(h.Acks)-1]
			last.Sequence, last.Upto = 0, last.Sequence
		},
		map[string]int{"exact_handover": 1},
	},
	{
		"a relay stores again what its predecessor stored after it claimed the lane",
		func(h *history.History) { takeOver(h, "relay-2", at(1)) },
		nil,
	},
	{
		"a relay stores again what it stored itself",
		func(h *history.History) { takeOver(h, "relay-1", at(150_000)) },
		nil,
	},
	{
		"two events of a key change places",
		func(h *history.History) { swap(h, 0, 1) },
		map[string]int{"key_order": 1},
	},
	{
		"released events of a key change places",
		func(h *history.History) { swap(h, find(h, event("r", 1)), find(h, event("r", 2))) },
		map[string]int{"key_order": 1},
	},
	{
		"a payload has another byte",
		func(h *history.History) { h.Stream[0].Digest[3]++ },
		map[string]int{"bytes_equal": 1},
	},
	{
		"an attribute has another value",
		func(h *history.History) { h.Stream[0].Type = "thing.erased" },
		map[string]int{"bytes_equal": 1},
	},
	{
		"the ordering key is gone",
		func(h *history.History) { h.Stream[0].Key = "" },
		map[string]int{"bytes_equal": 1},
	},
	{
		"a second copy has other bytes",
		func(h *history.History) { m := add(h, event("b", 1)); m.At = at(200_000); m.Digest[0]++ },
		map[string]int{"bytes_equal": 1},
	},
	{
		"a message has an id of its own",
		func(h *history.History) {
			m := &h.Stream[len(h.Stream)-1]
			m.MessageID = "new"
			h.Acks[len(h.Acks)-1].MessageID, h.Reads[len(h.Reads)-1].MessageID = "new", "new"
		},
		map[string]int{"bytes_equal": 1},
	},
	{
		"a message is no event",
		func(h *history.History) {
			*add(h, history.Event{}) = history.Message{Sequence: 8, At: at(1000), Fault: "is no event"}
		},
		map[string]int{"bytes_equal": 1},
	},
	{
		"a sequence is missing",
		func(h *history.History) {
			h.Stream[len(h.Stream)-1].Sequence++
			h.Acks[len(h.Acks)-1].Sequence++
			h.Reads[len(h.Reads)-1].Sequence++
		},
		map[string]int{"stream_sequence": 1},
	},
	{
		"the times of the stream go back",
		func(h *history.History) { h.Stream[1].At = h.Stream[0].At.Add(-2 * time.Millisecond) },
		map[string]int{"stream_sequence": 1},
	},
	{
		"an acknowledgement was for another message",
		func(h *history.History) { h.Acks[0].Sequence = 2 },
		map[string]int{"stream_sequence": 1},
	},
	{
		"an acknowledgement of a duplicate without a sequence",
		func(h *history.History) { h.Acks[0].Sequence, h.Acks[0].Duplicate = 0, true },
		nil,
	},
	{
		"an acknowledgement of a batch that is there",
		func(h *history.History) { h.Acks[0].Sequence, h.Acks[0].Upto = 0, 3 },
		nil,
	},
	{
		"an acknowledgement of a batch of which a message is not there yet",
		func(h *history.History) {
			last := &h.Acks[len(h.Acks)-1]
			last.Sequence, last.Upto = 0, last.Sequence-1
		},
		map[string]int{"stream_sequence": 1},
	},
	{
		"a consumer read what the stream no longer has",
		func(h *history.History) { h.Reads[0].MessageID = "another" },
		map[string]int{"stream_sequence": 1},
	},
	{
		"nothing was drained",
		func(h *history.History) { h.Limits.Drained = time.Time{} },
		map[string]int{"liveness": 1},
	},
	{
		"draining took too long",
		func(h *history.History) { h.Limits.Drained = h.Limits.Healed.Add(2 * time.Second) },
		map[string]int{"liveness": 1},
	},
	{
		"batches count an event twice",
		func(h *history.History) { h.Settled++ },
		map[string]int{"accounting": 1},
	},
	{
		"batches do not count an event",
		func(h *history.History) { h.Settled-- },
		map[string]int{"accounting": 1},
	},
	{
		"a relay counts more than was acknowledged",
		func(h *history.History) { h.Counters[0].Published++ },
		map[string]int{"accounting": 1},
	},
	{
		"a relay counts what was acknowledged and not delivered",
		func(h *history.History) { h.Acks[0].Delivered = false },
		map[string]int{"accounting": 1},
	},
	{
		"an event that was refused and waited is not in the stream",
		func(h *history.History) { remove(h, event("w", 1)) },
		map[string]int{"no_loss": 1, "settled_implies_present": 1},
	},
	{
		"an event that was refused left before it was stored",
		func(h *history.History) {
			h.Waits[1].At = h.Stream[find(h, event("w", 1))].At.Add(-5 * time.Millisecond)
		},
		map[string]int{"settled_implies_present": 1},
	},
	{
		"an event that was refused is given up",
		func(h *history.History) {
			remove(h, event("w", 1))
			h.Waits = append(h.Waits[:1:1], history.Wait{At: h.Waits[1].At, Position: h.Waits[1].Position, Kind: history.Dead, Attempts: 1}, h.Waits[1])
			h.Settled--
		},
		nil,
	},
	{
		"an attempt is counted without a refusal",
		func(h *history.History) { h.Waits[0].Attempts = 2 },
		map[string]int{"refusals_counted": 1},
	},
	{
		"an event is given up that was never refused",
		func(h *history.History) {
			h.Waits = append(h.Waits, history.Wait{At: at(100_000), Position: h.Rows[0].Position, Kind: history.Dead})
			h.Settled--
		},
		map[string]int{"refusals_counted": 1},
	},
	{
		"a commit that was reported did not happen",
		func(h *history.History) { h.Stages[3].Outcome = history.OK },
		map[string]int{"outcomes_true": 1},
	},
	{
		"a rollback that was reported did not happen",
		func(h *history.History) { h.Stages[2].Outcome = history.Failed },
		map[string]int{"outcomes_true": 1},
	},
	{
		"a drop that was reported released",
		func(h *history.History) { h.Decisions[1].Release = true },
		map[string]int{"outcomes_true": 1},
	},
}
