package history

import (
	"sync"
	"time"
)

// History is the record of a run. It is not changed once it is judged.
type History struct {
	Stages       []Stage
	Decisions    []Decision
	Publications []Publication
	Acks         []Ack
	Moves        []Move
	Waits        []Wait
	Rows         []Row
	Stream       []Message // the whole stream, in its order
	Rollbacks    []Rollback
	Reads        []Read

	// Committed are the events of which the ledger has a row; Decided are the generations
	// of which it has a decision, true for a release.
	Committed map[Name]bool
	Decided   map[Generation]bool

	// Effects are all facts of the consumers at the end; Consumed says that there were consumers.
	Effects  []Effect
	Consumed bool

	// Settled is how many events the settled batches count together.
	Settled  int64
	Counters []Counter

	Limits Limits

	once  sync.Once
	facts map[Name]*fact
	ids   map[string]*fact // by message id
	ever  []stored
}

// Limits say what is allowed.
type Limits struct {
	// Window is how long the broker remembers an id.
	Window time.Duration
	// Disruptions are times in which it may have forgotten.
	Disruptions []Span
	// Skew is how far the clocks of database, broker and producers may be apart.
	Skew time.Duration
	// Healed is when the last fault was over and the last transaction had ended, Drained is
	// when everything was delivered; zero if it never was. Within is how long that may take.
	Healed, Drained time.Time
	Within          time.Duration
}

// fate is what must become of an event.
type fate string

const (
	gone     fate = "never committed"
	free     fate = "free"     // committed without a hold
	held     fate = "held"     // its generation is undecided
	released fate = "released" // its generation was released
	dropped  fate = "dropped"  // its generation was dropped
)

// leaves says whether an event belongs into the stream.
func (f fate) leaves() bool { return f == free || f == released }

// fact is all that is known of one event.
type fact struct {
	Event
	stage  *Stage
	row    *Row
	waits  []Wait // in their order
	fate   fate
	copies []int // in Stream, in its order
	ever   []int // in what was ever stored, in its order
}

// place is where an event is in the log.
type place struct {
	lane     int
	position int64
}

// waited returns what has become of an event that waited, and false if it never did. The move
// to the dead letters is two steps of one transaction, in any order.
func (f *fact) waited() (last Wait, ok bool) {
	for _, w := range f.waits {
		if last.Kind != Dead || w.Kind != Leaves {
			last = w
		}
	}
	return last, len(f.waits) > 0
}

// dead says whether the event was given up.
func (f *fact) dead() bool {
	last, _ := f.waited()
	return last.Kind == Dead
}

// late says whether the event is on its way still: no cursor has passed it, or it waits.
func (h *History) late(lanes map[int][]Move, f *fact) bool {
	if f.row == nil {
		return false
	}
	if last, waited := f.waited(); waited {
		return last.Kind == Waits
	}
	_, settled := passed(lanes[f.row.Lane], f.row)
	return !settled
}

// index gathers the facts.
func (h *History) index() {
	h.once.Do(func() {
		h.facts, h.ids = map[Name]*fact{}, map[string]*fact{}
		for i := range h.Stages {
			stage := &h.Stages[i]
			for _, e := range stage.Events {
				f := &fact{Event: e, stage: stage, fate: h.fateOf(e.Name, stage.Held)}
				h.facts[e.Name] = f
				h.ids[MessageID(e.Name)] = f
			}
		}
		places := map[place]*fact{}
		for i := range h.Rows {
			if f := h.facts[h.Rows[i].Name]; f != nil {
				f.row = &h.Rows[i]
				places[place{f.row.Lane, f.row.Position}] = f
			}
		}
		for _, w := range h.Waits {
			if f := places[place{w.Lane, w.Position}]; f != nil {
				f.waits = append(f.waits, w)
			}
		}
		for i, m := range h.Stream {
			if f := h.facts[m.Name]; f != nil && m.Fault == "" {
				f.copies = append(f.copies, i)
			}
		}
		h.ever = h.everStored()
		for i, m := range h.ever {
			if f := h.facts[m.Name]; f != nil && m.Fault == "" {
				f.ever = append(f.ever, i)
			}
		}
	})
}

func (h *History) fateOf(n Name, g Generation) fate {
	release, decided := h.Decided[g]
	switch {
	case !h.Committed[n]:
		return gone
	case g == Generation{}:
		return free
	case !decided:
		return held
	case release:
		return released
	default:
		return dropped
	}
}

// all returns the facts in the order of staging.
func (h *History) all() []*fact {
	h.index()
	list := make([]*fact, 0, len(h.facts))
	for _, stage := range h.Stages {
		for _, e := range stage.Events {
			list = append(list, h.facts[e.Name])
		}
	}
	return list
}
