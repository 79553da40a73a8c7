package reconcile

import (
	"cmp"
	"slices"
)

// event is an entry of the log's list, of a fixed size.
type event struct {
	head   uint64 // of its message id
	digest uint64 // of its content, 0 if it is not known
	key    uint64 // hash of its partition key; 0 for an event without order
	seq    int64
	stream uint64 // sequence of its first message; 0 while none was seen
	tail   uint32 // of its message id
	lane   int16
	state  state
	copies uint8 // messages seen, as far as it counts
}

// state is what the log says of an event, and then what became of it.
type state uint8

const (
	onItsWay state = iota // undrained, waiting, a dead letter, or outside the window
	held
	expected
	altered // expected, and found with another content
	placed  // found in the stream, and its place among its key counts
	missing // not found
)

func (e *event) id() key { return key{e.head, e.tail} }

func (e *event) isExpected() bool { return e.state == expected || e.state == altered }

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.tail, b.tail))
}

func compareEvents(a, b event) int {
	return cmp.Or(compareKeys(a.id(), b.id()), cmp.Compare(a.seq, b.seq))
}

// compareByKey orders events that were found by key and then as the stream has them.
func compareByKey(a, b event) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.stream, b.stream))
}

// withID returns the events that have an id, of a list that is sorted by it.
func withID(events []event, id key) []event {
	first, found := slices.BinarySearchFunc(events, id, func(e event, id key) int { return compareKeys(e.id(), id) })
	if !found {
		return nil
	}
	end := first + 1
	for end < len(events) && events[end].id() == id {
		end++
	}
	return events[first:end]
}

// message is what is compared of a message of the stream.
type message struct {
	id     key
	digest uint64 // of its content
	key    uint64 // hash of its partition key
	seq    uint64 // of the stream
	source uint32 // hash of its source
	marks  marks
}

// marks are what is known of a message when it is read.
type marks uint8

const (
	judged     marks = 1 << iota // if the log has no event for it, that means something
	unreadable                   // no CloudEvent
	forgotten                    // of a dead letter that outlived the log
	younger                      // than the snapshot of the log, as its event may be
)
