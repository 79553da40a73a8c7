package fault

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Rule acts on things of one kind, such as messages on a NATS connection. It is a value:
// adding it to a proxy twice makes two independent rules.
type Rule[M, A any] struct {
	// Match says whether the rule concerns a thing. nil matches everything.
	Match func(M) bool
	// After is how many matches pass before the rule acts.
	After int
	// Times is how often it acts. 0 means for as long as it is there.
	Times int
	// Do is what it does.
	Do A
}

// Handle is a rule that was added to a proxy. It is safe for concurrent use.
type Handle struct {
	hits   atomic.Int64
	hit    chan struct{} // closed at the first hit
	first  sync.Once
	remove func()
}

// Hits returns how often the rule has acted.
func (h *Handle) Hits() int { return int(h.hits.Load()) }

// Hit returns a channel that is closed when the rule has acted for the first time.
func (h *Handle) Hit() <-chan struct{} { return h.hit }

// Remove takes the rule away. Removing it twice is harmless.
func (h *Handle) Remove() { h.remove() }

func (h *Handle) count() {
	h.hits.Add(1)
	h.first.Do(func() { close(h.hit) })
}

// rules are the rules of a proxy, in the order in which they were added. Safe for
// concurrent use.
type rules[M, A any] struct {
	mu   sync.Mutex
	list []*active[M, A]
}

type active[M, A any] struct {
	Rule[M, A]
	handle *Handle
	seen   int // matches; under rules.mu
	acted  int // under rules.mu
}

func (r *rules[M, A]) add(rule Rule[M, A]) *Handle {
	a := &active[M, A]{Rule: rule, handle: &Handle{hit: make(chan struct{})}}
	a.handle.remove = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = slices.DeleteFunc(r.list, func(other *active[M, A]) bool { return other == a })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, a)
	return a.handle
}

// match returns what to do with a thing, and false when nothing.
func (r *rules[M, A]) match(thing M) (action A, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.list {
		if a.Times > 0 && a.acted == a.Times || a.Match != nil && !a.Match(thing) {
			continue
		}
		if a.seen++; a.seen <= a.After {
			continue
		}
		a.acted++
		a.handle.count()
		return a.Do, true
	}
	return action, false
}
