package reconcile

import (
	"slices"
	"time"
)

// Class is what a comparison says of an event or a message.
type Class string

// The classes; see the table of the package.
const (
	Missing    Class = "missing"
	Expired    Class = "expired"
	Duplicated Class = "duplicated"
	Changed    Class = "changed"
	Disordered Class = "disordered"
	Late       Class = "late"
	Held       Class = "held"
	Foreign    Class = "foreign"
	Unjudged   Class = "unjudged"
	Other      Class = "other"
	Replayed   Class = "replayed"
)

// Classes returns the classes, the unexplained ones first.
func Classes() []Class {
	return []Class{Missing, Duplicated, Changed, Disordered, Held, Foreign, Expired, Late, Unjudged, Other, Replayed}
}

// Unexplained reports whether a finding of this class means that something is wrong.
func (c Class) Unexplained() bool { return slices.Index(Classes(), c) < 6 }

// Report is the outcome of a comparison.
type Report struct {
	Stream, Schema, Group string
	Since, Until          time.Time // zero without a bound

	// Events is how many the log has, and Messages how many of the stream were read.
	Events, Messages int64
	// Settled is how many events are expected in the stream, and Present how many are there.
	Settled, Present int64
	// Counts says how many there are of each class.
	Counts map[Class]int64
	// Examples are the first of each class in the order of the log or the stream.
	Examples []Example

	// First and Last are the sequences of the stream, and Acknowledged the last one that a relay was
	// told. Regressed says that the stream ends before that: it was restored or made anew.
	First, Last, Acknowledged uint64
	Regressed                 bool
	// Streams are those that relays of the group have published to. Another one that is compared
	// was named by mistake, or made anew under another name.
	Streams []string
	// Window is the dedup window of the stream.
	Window time.Duration
	// Passes is how often everything was read.
	Passes int
	// Repair is what was done about the missing ones; nil without Config.Repair.
	Repair *Repair
}

// Example is an event or a message. Ids only: never a payload.
type Example struct {
	Class     Class
	EventID   string // "" for a message that is none
	MessageID string // its Nats-Msg-Id
	Lane      int16  // with Seq
	Seq       int64  // number in the log; 0 when it is not in the log
	StreamSeq uint64 // 0 when it is not in the stream
}

// Repair is what became of missing events that were published again.
type Repair struct {
	Published int64 // found in the stream afterwards
	// Remembered were acknowledged and are not in the stream: it remembers their ids for the
	// length of its dedup window.
	Remembered int64
	// Refused are ones that the broker would not have.
	Refused int64
	// Gone are not in the log any more.
	Gone int64
}

// Unexplained returns how many findings mean that something is wrong. Missing events that were
// repaired are not among them.
func (r *Report) Unexplained() int64 {
	var n int64
	for class, count := range r.Counts {
		if class.Unexplained() {
			n += count
		}
	}
	if r.Repair != nil {
		n -= r.Repair.Published
	}
	return n
}

// note counts a finding and keeps it as an example if it is among the first.
func (r *Report) note(most int, e Example) {
	r.Counts[e.Class]++
	first := func(a, b Example) int {
		switch {
		case a.Seq != b.Seq:
			return sign(a.Seq < b.Seq)
		case a.StreamSeq != b.StreamSeq:
			return sign(a.StreamSeq < b.StreamSeq)
		}
		return 0
	}
	of := 0
	last := -1
	for i := range r.Examples {
		if r.Examples[i].Class != e.Class {
			continue
		}
		of++
		if last < 0 || first(r.Examples[i], r.Examples[last]) > 0 {
			last = i
		}
	}
	switch {
	case of < most:
		r.Examples = append(r.Examples, e)
	case last >= 0 && first(e, r.Examples[last]) < 0:
		r.Examples[last] = e
	}
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// arrange puts the examples into the order of the classes, and of the log or the stream.
func (r *Report) arrange() {
	order := Classes()
	slices.SortFunc(r.Examples, func(a, b Example) int {
		if a.Class != b.Class {
			return slices.Index(order, a.Class) - slices.Index(order, b.Class)
		}
		if a.Seq != b.Seq {
			return sign(a.Seq < b.Seq)
		}
		return sign(a.StreamSeq < b.StreamSeq)
	})
}
