package relay

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// event is a row of the log on its way to the stream.
type event struct {
	outbox.Record
	seq int64
	// staged is when it was staged, by the clock of the database; zero when that was not read.
	staged time.Time
	// streamSeq is where the stream stored it, or the last event of its batch when that was
	// acknowledged as a whole; 0 until it is acknowledged.
	streamSeq uint64
	// refused is why the broker will not have it; nil unless it said so.
	refused *retry.Reason
	// parked says that it waits behind an earlier event of its key that was refused.
	parked bool
	// next is the index of the next event of the same key in the batch, or -1.
	next int
	// later says that an earlier event of the batch has the same key.
	later bool
}

// batch is what one round publishes and settles. It belongs to one goroutine at a time.
type batch struct {
	events []event // in seq order
	after  cursor  // where the lane's cursor is once every event is stored
	more   bool    // the lane certainly has more
	// again says that somebody may have published of it before: an earlier attempt, or a
	// previous owner of the lane.
	again bool
	// whole says that events were acknowledged together, and floor is a sequence before which
	// none of them is.
	whole bool
	floor uint64
}

// cursor is how far a lane has been settled, as outbox_lane has it. The snapshots are
// the text that the database gave and are never interpreted here.
type cursor struct {
	drained string
	target  string // "" unless a backlog is being paged
	pos     int64  // meaningful with target
}

// link sorts the events and chains those of one key.
func (b *batch) link() {
	if !b.sorted() {
		slices.SortFunc(b.events, func(x, y event) int { return cmp.Compare(x.seq, y.seq) })
	}
	last := make(map[string]int, len(b.events))
	for i := range b.events {
		e := &b.events[i]
		e.next = -1
		if e.PartitionKey == "" {
			continue
		}
		if before, ok := last[e.PartitionKey]; ok {
			b.events[before].next = i
			e.later = true
		}
		last[e.PartitionKey] = i
	}
}

// sorted reports whether the events are in seq order, as those of a page are. It copies none of them.
func (b *batch) sorted() bool {
	for i := 1; i < len(b.events); i++ {
		if b.events[i-1].seq > b.events[i].seq {
			return false
		}
	}
	return true
}

// stored counts the acknowledged events.
func (b *batch) stored() int {
	n := 0
	for i := range b.events {
		if b.events[i].streamSeq != 0 {
			n++
		}
	}
	return n
}

// refused counts the events that the broker refused.
func (b *batch) refused() int {
	n := 0
	for i := range b.events {
		if b.events[i].refused != nil {
			n++
		}
	}
	return n
}

// waits reports whether the event will not be published by this batch.
func (e *event) waits() bool { return e.refused != nil || e.parked }

// parkFollowers parks the events that come behind a refused or parked one of their key.
func (b *batch) parkFollowers() {
	for i := range b.events { // seq order, so a chain is parked from its head on
		if e := &b.events[i]; e.waits() && e.next >= 0 && b.events[e.next].streamSeq == 0 {
			b.events[e.next].parked = true
		}
	}
}

// open counts the events that are neither stored nor left to wait.
func (b *batch) open() int {
	n := 0
	for i := range b.events {
		if e := &b.events[i]; e.streamSeq == 0 && !e.waits() {
			n++
		}
	}
	return n
}

// streamRange returns the smallest and the largest stream sequence of the batch, 0 when
// nothing of it is stored. Of events that were acknowledged together the smallest is not known,
// and first is before it.
func (b *batch) streamRange() (first, last uint64) {
	for i := range b.events {
		s := b.events[i].streamSeq
		if s != 0 && (first == 0 || s < first) {
			first = s
		}
		last = max(last, s)
	}
	if b.whole {
		first = max(1, min(first, b.floor))
	}
	return first, last
}
