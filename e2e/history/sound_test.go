package history_test

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// zero is when all made-up histories begin.
var zero = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

// at is a moment of a history.
func at(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }

// event is the nth of a key.
func event(key string, version int) history.Event {
	id := fmt.Sprintf("%s-%d", key, version)
	return history.Event{
		Name: history.Name{Source: "/test", ID: id}, Type: "thing.changed", Key: key, Version: version,
		Digest: sha256.Sum256([]byte(id)),
	}
}

// operation is the first generation of one.
func operation(name string) history.Generation { return history.Generation{Operation: name, Number: 1} }

// maker makes histories step by step.
type maker struct {
	h      *history.History
	ms     int
	tx     uint64
	lane   history.Lane
	placed []history.Event // and not yet published
}

// snapshot sees every transaction below next.
func snapshot(next uint64) history.Snapshot { return history.Snapshot{Min: next, Max: next} }

func (m *maker) tick() time.Time {
	m.ms += 10
	return at(m.ms)
}

func (m *maker) stage(outcome history.Outcome, committed bool, held history.Generation, events ...history.Event) {
	m.h.Stages = append(m.h.Stages, history.Stage{Actor: "producer-1", Begin: m.tick(), Outcome: outcome, Held: held, Events: events})
	if !committed {
		return
	}
	for _, e := range events {
		m.h.Committed[e.Name] = true
	}
	if held == (history.Generation{}) {
		m.place(events...)
	}
}

// place gives events their rows in the log.
func (m *maker) place(events ...history.Event) {
	m.tx++
	for _, e := range events {
		m.h.Rows = append(m.h.Rows, history.Row{Name: e.Name, Lane: 0, Tx: m.tx, Position: int64(len(m.h.Rows) + 1)})
	}
	m.placed = append(m.placed, events...)
}

func (m *maker) decide(outcome history.Outcome, g history.Generation, release bool, events ...history.Event) {
	m.h.Decisions = append(m.h.Decisions, history.Decision{Actor: "producer-1", Begin: m.tick(), Outcome: outcome, Generation: g, Release: release})
	m.h.Decided[g] = release
	if release {
		m.place(events...)
	}
}

// publish stores what has a place, and settles it.
func (m *maker) publish() {
	for _, e := range m.placed {
		id := history.MessageID(e.Name)
		m.h.Publications = append(m.h.Publications, history.Publication{At: m.tick(), Relay: "relay-1", MessageID: id})
		sequence := uint64(len(m.h.Stream) + 1)
		m.h.Stream = append(m.h.Stream, history.Message{Event: e, MessageID: id, Sequence: sequence, At: m.tick()})
		m.h.Acks = append(m.h.Acks, history.Ack{At: m.tick(), Relay: "relay-1", MessageID: id, Sequence: sequence, Delivered: true})
		m.h.Effects = append(m.h.Effects, history.Effect{Name: e.Name, Rows: 1, Digest: e.Digest})
		m.h.Reads = append(m.h.Reads, history.Read{MessageID: id, Sequence: sequence})
	}
	m.h.Settled += int64(len(m.placed))
	m.placed = nil
	m.move("relay-1", func(l *history.Lane) { l.Drained = snapshot(m.tx + 1) })
}

// refuse stages an event that the broker refuses once.
func (m *maker) refuse(e history.Event) {
	m.stage(history.OK, true, history.Generation{}, e)
	m.placed = nil
	m.h.Acks = append(m.h.Acks, history.Ack{At: m.tick(), Relay: "relay-1", MessageID: history.MessageID(e.Name), Code: 10054, Delivered: true, Forged: true})
	position := m.h.Rows[len(m.h.Rows)-1].Position
	m.wait(position, history.Waits, 1)
	m.h.Settled++
	m.move("relay-1", func(l *history.Lane) { l.Drained = snapshot(m.tx + 1) })
	settled := m.h.Settled
	m.placed = []history.Event{e}
	moves := m.h.Moves
	m.publish()
	m.h.Moves, m.h.Settled = moves, settled // nothing but the event itself is written then
	m.wait(position, history.Leaves, 1)
}

func (m *maker) wait(position int64, kind history.WaitKind, attempts int) {
	m.h.Waits = append(m.h.Waits, history.Wait{At: m.tick(), Position: position, Kind: kind, Attempts: attempts})
}

func (m *maker) move(session string, change func(*history.Lane)) {
	before := m.lane
	change(&m.lane)
	now := m.tick()
	m.h.Moves = append(m.h.Moves, history.Move{Began: now, At: now, Session: session, Before: before, After: m.lane})
}

// sound is a history with one of everything and nothing wrong.
func sound() *history.History {
	m := &maker{h: &history.History{Committed: map[history.Name]bool{}, Decided: map[history.Generation]bool{}, Consumed: true}, tx: 100, lane: history.Lane{Drained: snapshot(1)}}
	m.h.Limits = history.Limits{Window: time.Minute, Skew: time.Millisecond, Within: time.Second}
	none := history.Generation{}
	m.move("relay-1", func(l *history.Lane) { l.Owner, l.Token, l.Until = "relay-1", "token-1", at(100_000) })
	m.stage(history.OK, true, none, event("a", 1), event("a", 2))
	m.stage(history.Failed, false, none, event("a", 3))
	m.stage(history.Unknown, true, none, event("a", 4))
	m.stage(history.Unknown, false, none, event("a", 5))
	m.stage(history.OK, true, operation("released"), event("r", 1), event("r", 2))
	m.stage(history.OK, true, operation("dropped"), event("d", 1))
	m.stage(history.OK, true, operation("open"), event("o", 1))
	m.publish()
	m.decide(history.Unknown, operation("released"), true, event("r", 1), event("r", 2))
	m.decide(history.OK, operation("dropped"), false)
	m.publish()
	m.refuse(event("w", 1))
	m.stage(history.OK, true, none, event("b", 1))
	m.publish()
	m.move("relay-1", func(l *history.Lane) { l.Owner, l.Token, l.Until = "", "", time.Time{} })
	m.h.Counters = []history.Counter{{Relay: "relay-1", Published: 7}}
	m.h.Limits.Healed, m.h.Limits.Drained = m.tick(), m.tick()
	return m.h
}
