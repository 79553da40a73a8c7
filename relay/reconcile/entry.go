package reconcile

import "cmp"

// event is an entry of the log's list, of a fixed size.
type event struct {
	head   uint64 // of its message id
	digest uint64 // of its content, 0 if it is not known; later the sequence of its message
	key    uint64 // hash of its partition key; 0 for an event without order
	seq    int64
	tail   uint32
	lane   int16
	state  state
}

// state is what the log says of an event.
type state uint8

const (
	onItsWay state = iota // undrained, waiting, a dead letter, or outside the window
	held
	expected
	placed  // found in the stream, and its place among its key counts
	missing // not found
)

func (e *event) id() key { return key{e.head, e.tail} }

// message is an entry of the stream's list, of a fixed size.
type message struct {
	head   uint64 // of its id
	digest uint64 // of its content
	seq    uint64 // of the stream
	tail   uint32
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

func (m *message) id() key { return key{m.head, m.tail} }

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.head, b.head), cmp.Compare(a.tail, b.tail))
}

func compareEvents(a, b event) int {
	return cmp.Or(compareKeys(a.id(), b.id()), cmp.Compare(a.seq, b.seq))
}

func compareMessages(a, b message) int {
	return cmp.Or(compareKeys(a.id(), b.id()), cmp.Compare(a.seq, b.seq))
}

// compareByKey orders events that were found by key and then as the stream has them.
func compareByKey(a, b event) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.digest, b.digest))
}
