package history_test

import (
	"time"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// kept is how many messages of the sound history a rollback leaves: r-1, r-2, w-1 and b-1 are gone.
const kept = 3

// rollBack takes the end of the stream away, as an earlier copy of the store does.
func rollBack(h *history.History) {
	lost := h.Stream[kept:]
	h.Stream = h.Stream[:kept:kept]
	h.Rollbacks = append(h.Rollbacks, history.Rollback{At: at(2000), Lost: lost})
}

// repair stores an event again, at the end of the stream.
func repair(h *history.History, e history.Event) {
	m := add(h, e)
	m.At = at(3000 + int(m.Sequence))
	h.Publications[len(h.Publications)-1].Relay = history.Repairer
	h.Acks = append(h.Acks, history.Ack{At: m.At, Relay: history.Repairer, MessageID: m.MessageID, Sequence: m.Sequence, Delivered: true})
	h.Settled++
}

// rollBackAndRepair puts back what the rollback took, in the order of the log.
func rollBackAndRepair(h *history.History) {
	rollBack(h)
	for _, m := range h.Rollbacks[0].Lost {
		repair(h, m.Event)
	}
}

// wrongRollbacks are histories in which the broker's store became an earlier one.
var wrongRollbacks = []struct {
	name   string
	damage func(*history.History)
	want   map[string]int
}{
	{"a rollback is repaired", rollBackAndRepair, nil},
	{"a rollback is not repaired", rollBack, map[string]int{"no_loss": 4}},
	{
		"a rollback is repaired but for one event",
		func(h *history.History) {
			rollBack(h)
			for _, m := range h.Rollbacks[0].Lost[1:] {
				repair(h, m.Event)
			}
		},
		map[string]int{"no_loss": 1},
	},
	{
		"a relay stores what a rollback removed",
		func(h *history.History) {
			rollBackAndRepair(h)
			id := history.MessageID(event("b", 1).Name)
			for i := range h.Publications {
				if h.Publications[i].MessageID == id {
					h.Publications[i].Relay = "relay-1"
				}
			}
			h.Acks[len(h.Acks)-1].Relay = "relay-1"
			h.Settled--
		},
		nil,
	},
	{
		"two rollbacks, and the second takes what was stored since the first",
		func(h *history.History) {
			rollBackAndRepair(h)
			rollBack(h)
			h.Rollbacks[1].At = at(4000)
			for _, m := range h.Rollbacks[1].Lost {
				repair(h, m.Event)
				h.Stream[len(h.Stream)-1].At = at(5000 + len(h.Stream))
				h.Settled--
			}
		},
		nil,
	},
	{
		"a repair stores an event twice",
		func(h *history.History) {
			rollBackAndRepair(h)
			repair(h, event("b", 1))
			h.Settled--
		},
		map[string]int{"bounded_duplicates": 1},
	},
	{
		"an event is stored again that a rollback left",
		func(h *history.History) { rollBackAndRepair(h); add(h, event("a", 1)) },
		map[string]int{"bounded_duplicates": 1},
	},
	{
		"a repair publishes an event that no rollback removed",
		func(h *history.History) {
			rollBackAndRepair(h)
			h.Publications = append(h.Publications, history.Publication{Relay: history.Repairer, MessageID: h.Stream[0].MessageID})
		},
		map[string]int{"repair_exact": 1},
	},
	{
		"a repair publishes an event that nobody staged",
		func(h *history.History) {
			h.Publications = append(h.Publications, history.Publication{Relay: history.Repairer, MessageID: "unknown"})
		},
		map[string]int{"repair_exact": 1},
	},
	{
		"a repair covers a relay that lost an event",
		func(h *history.History) {
			applied := *effect(h, event("b", 1))
			remove(h, event("b", 1))
			repair(h, event("b", 1))
			h.Effects = append(h.Effects, applied)
		},
		map[string]int{"settled_implies_present": 1, "repair_exact": 1},
	},
	{
		"batches do not count a repair",
		func(h *history.History) { rollBackAndRepair(h); h.Settled-- },
		map[string]int{"accounting": 1},
	},
	{
		"a dropped event was in the stream until a rollback",
		func(h *history.History) {
			add(h, event("d", 1))
			h.Stream[len(h.Stream)-1].At = at(1999)
			rollBackAndRepairBut(h, "d-1")
		},
		map[string]int{"hold_safety": 1},
	},
	{
		"an event that was rolled back was in the stream until a rollback",
		func(h *history.History) {
			add(h, event("a", 5))
			h.Stream[len(h.Stream)-1].At = at(1999)
			rollBackAndRepairBut(h, "a-5")
		},
		map[string]int{"no_phantom": 1},
	},
	{
		"events of a key were stored in another order before a rollback",
		func(h *history.History) {
			swap(h, find(h, event("r", 1)), find(h, event("r", 2)))
			rollBackAndRepair(h)
		},
		map[string]int{"key_order": 1},
	},
	{
		"a payload had another byte before a rollback",
		func(h *history.History) {
			rollBackAndRepair(h)
			h.Rollbacks[0].Lost[0].Digest[0]++
		},
		map[string]int{"bytes_equal": 1},
	},
	{
		"a rollback removed what is older than what it left",
		func(h *history.History) {
			rollBackAndRepair(h)
			h.Rollbacks[0].Lost[0].At = h.Stream[kept-1].At.Add(-2 * time.Millisecond)
			h.Stages[4].Begin, h.Decisions[0].Begin = at(0), at(0)
		},
		map[string]int{"stream_sequence": 1},
	},
	{
		"an acknowledgement names what neither the stream has nor a rollback removed",
		func(h *history.History) { rollBackAndRepair(h); h.Acks[0].Sequence = 5 },
		map[string]int{"stream_sequence": 1},
	},
}

// rollBackAndRepairBut leaves out what does not belong into the stream.
func rollBackAndRepairBut(h *history.History, id string) {
	rollBack(h)
	for _, m := range h.Rollbacks[0].Lost {
		if m.ID != id {
			repair(h, m.Event)
		}
	}
}
