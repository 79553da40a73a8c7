package fault

import (
	"slices"
	"sync"
)

// LinkFault is what a [LinkRule] does to connections.
type LinkFault string

// The faults of a link.
const (
	// Refuse cuts new connections at once. Those that exist go on.
	Refuse LinkFault = "refuse"
	// BlackHole accepts connections and bytes and answers nothing, as a network does that
	// drops packets. Connections that lost bytes in it are cut when the rule goes.
	BlackHole LinkFault = "black hole"
	// Stall keeps bytes back and lets them go, in order, when the rule goes.
	Stall LinkFault = "stall"
	// Slow lets BytesPerSecond through in each direction of each connection.
	Slow LinkFault = "slow"
)

// LinkRule is a fault of all connections of a proxy, for as long as it is there. Its
// hits are the connections, or the messages on them, that it concerned.
type LinkRule struct {
	Fault          LinkFault
	BytesPerSecond int // of Slow
}

// links are the link rules of a proxy. Safe for concurrent use.
type links struct {
	mu      sync.Mutex
	list    []*activeLink
	changed chan struct{} // closed and replaced when list changes
}

type activeLink struct {
	LinkRule
	handle *Handle
}

// add returns after the rule has taken effect. gone is called when it was removed.
func (l *links) add(rule LinkRule, gone func()) *Handle {
	a := &activeLink{LinkRule: rule, handle: &Handle{hit: make(chan struct{})}}
	a.handle.remove = sync.OnceFunc(func() {
		l.mu.Lock()
		l.list = slices.DeleteFunc(l.list, func(other *activeLink) bool { return other == a })
		l.broadcast()
		l.mu.Unlock()
		gone()
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, a)
	l.broadcast()
	return a.handle
}

// broadcast wakes all that wait for a change. The caller holds mu.
func (l *links) broadcast() {
	if l.changed != nil {
		close(l.changed)
	}
	l.changed = make(chan struct{})
}

// find returns the first rule with a fault, and a channel that is closed when that may be
// different.
func (l *links) find(fault LinkFault) (*activeLink, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	for _, a := range l.list {
		if a.Fault == fault {
			return a, l.changed
		}
	}
	return nil, l.changed
}
