package check

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// findingsLimit bounds how many faults are described; all of them are counted.
const findingsLimit = 10

// Verdict is the result of a comparison. All numbers count events.
type Verdict struct {
	Committed int `json:"committed"` // by transactions that wrote business rows as well
	Published int `json:"published"` // of the committed ones, in the stream
	Held      int `json:"held"`      // committed and still waiting for a decision
	Released  int `json:"released"`  // committed held, and released since
	Dropped   int `json:"dropped"`   // committed held, and cancelled since

	Lost             int `json:"lost"`                 // must be in the stream and is not
	Phantom          int `json:"phantom"`              // is in the stream and was never committed
	DroppedPublished int `json:"dropped_published"`    // is in the stream although it was cancelled
	HeldPublished    int `json:"held_published"`       // is in the stream although nobody decided
	Duplicates       int `json:"duplicates_in_stream"` // second copies of an event
	OrderViolations  int `json:"order_violations"`     // came after a later event of its key
	BodyMismatches   int `json:"body_mismatches"`      // has other bytes than were staged
	InvalidEvents    int `json:"invalid_events"`       // is no valid CloudEvent, or has other attributes

	// Findings describes the first faults.
	Findings []string `json:"-"`
}

// OK says that nothing went wrong. Duplicates are allowed: delivery is at least once.
func (v *Verdict) OK() bool {
	return v.Lost+v.Phantom+v.DroppedPublished+v.HeldPublished+v.OrderViolations+v.BodyMismatches+v.InvalidEvents == 0
}

// Compare judges the messages of the whole stream, in its order, against the ledger.
func Compare(ledger []Entry, stream []Message) *Verdict {
	c := comparison{entries: make(map[string]Entry, len(ledger)), seen: make(map[string]bool, len(stream)), last: map[string]int{}}
	for _, entry := range ledger {
		c.entries[entry.ID] = entry
	}
	for _, message := range stream {
		c.message(message)
	}
	for _, entry := range ledger {
		c.entry(entry)
	}
	return &c.verdict
}

type comparison struct {
	verdict Verdict
	entries map[string]Entry
	seen    map[string]bool // ids that the stream has
	last    map[string]int  // the newest version of each key so far
}

func (c *comparison) message(m Message) {
	if m.Fault != "" {
		c.fault(&c.verdict.InvalidEvents, "invalid: message %d %s", m.Sequence, m.Fault)
		return
	}
	entry, committed := c.entries[m.ID]
	switch {
	case c.seen[m.ID]:
		c.fault(&c.verdict.Duplicates, "duplicate: message %d repeats %s %s", m.Sequence, m.Type, m.ID)
	case !committed:
		c.fault(&c.verdict.Phantom, "phantom: message %d, %s %s, was never committed", m.Sequence, m.Type, m.ID)
	case entry.Fate == Dropped:
		c.fault(&c.verdict.DroppedPublished, "dropped and published: message %d, %s %s", m.Sequence, m.Type, m.ID)
	case entry.Fate == Held:
		c.fault(&c.verdict.HeldPublished, "held and published: message %d, %s %s", m.Sequence, m.Type, m.ID)
	case c.intact(entry.Event, m):
		c.order(m)
	}
	c.seen[m.ID] = true
}

// intact wants the message to say what was staged, to the byte. A second copy needs no
// look: consumers drop it by its id.
func (c *comparison) intact(staged Event, m Message) bool {
	switch {
	case staged.Digest != m.Digest:
		c.fault(&c.verdict.BodyMismatches, "body: message %d, %s %s, has other bytes than were staged", m.Sequence, m.Type, m.ID)
	case m.MessageID != history.MessageID(m.Name):
		c.fault(&c.verdict.InvalidEvents, "message id: message %d, %s %s, has the foreign id %q", m.Sequence, m.Type, m.ID, m.MessageID)
	case staged != m.Event:
		c.fault(&c.verdict.InvalidEvents, "attributes: message %d is %v, staged was %v", m.Sequence, m.Event, staged)
	default:
		return true
	}
	return false
}

// order wants the versions of a key to rise.
func (c *comparison) order(m Message) {
	if last := c.last[m.Key]; m.Version <= last {
		c.fault(&c.verdict.OrderViolations, "order: message %d, %s %s, is version %d of %s after version %d",
			m.Sequence, m.Type, m.ID, m.Version, m.Key, last)
		return
	}
	c.last[m.Key] = m.Version
}

func (c *comparison) entry(e Entry) {
	c.verdict.Committed++
	switch e.Fate {
	case Released:
		c.verdict.Released++
	case Dropped:
		c.verdict.Dropped++
	case Held:
		c.verdict.Held++
	}
	if c.seen[e.ID] {
		c.verdict.Published++
	} else if e.Fate.leaves() {
		c.fault(&c.verdict.Lost, "lost: %s %s, version %d of %s", e.Type, e.ID, e.Version, e.Key)
	}
}

// fault counts a fault, and describes it while there is room.
func (c *comparison) fault(counter *int, format string, args ...any) {
	*counter++
	if len(c.verdict.Findings) < findingsLimit {
		c.verdict.Findings = append(c.verdict.Findings, fmt.Sprintf(format, args...))
	}
}
