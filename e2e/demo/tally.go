package main

import "sync/atomic"

// tally counts what the traffic knows that it did. It is for the progress lines and for
// knowing when to stop waiting; the verdict is not made from it, except for what leaves
// no trace: what was rolled back and what was refused.
type tally struct {
	orders     atomic.Int64 // begun
	committed  atomic.Int64 // events
	held       atomic.Int64 // events that wait for a decision
	dropped    atomic.Int64 // events
	rolledBack atomic.Int64 // events

	operations atomic.Int64
	doubled    atomic.Int64 // operations that two callers released at once
	refused    atomic.Int64 // steps that came after the decision
}

// expected is how many events must be in the stream once the relays are done.
func (t *tally) expected() int64 {
	return t.committed.Load() - t.held.Load() - t.dropped.Load()
}
