package history

import (
	"sync"
	"time"
)

// Recorder gathers a history while it happens. It is safe for concurrent use.
type Recorder struct {
	mu sync.Mutex
	h  History
}

// Stage records a transaction that staged events.
func (r *Recorder) Stage(s Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Stages = append(r.h.Stages, s)
}

// Decision records a release or a drop.
func (r *Recorder) Decision(d Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Decisions = append(r.h.Decisions, d)
}

// Publication records a message that a broker was given.
func (r *Recorder) Publication(p Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Publications = append(r.h.Publications, p)
}

// Ack records a broker's answer.
func (r *Recorder) Ack(a Ack) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Acks = append(r.h.Acks, a)
}

// Disruption records that the broker is in trouble, until the function that it returns is called.
func (r *Recorder) Disruption(what string) (over func()) {
	from := time.Now()
	r.mu.Lock()
	i := len(r.h.Limits.Disruptions)
	r.h.Limits.Disruptions = append(r.h.Limits.Disruptions, Span{From: from, What: what})
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.h.Limits.Disruptions[i].To = time.Now()
	}
}

// Rollback records that the broker's store became an earlier one.
func (r *Recorder) Rollback(b Rollback) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Rollbacks = append(r.h.Rollbacks, b)
}

// Removed returns the ids of the events that rollbacks removed, whether or not they are there again.
func (r *Recorder) Removed() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string]bool{}
	for _, b := range r.h.Rollbacks {
		for _, m := range b.Lost {
			ids[m.ID] = true
		}
	}
	return ids
}

// Staged returns how many events were staged, whatever became of them.
func (r *Recorder) Staged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.h.Stages {
		n += len(s.Events)
	}
	return n
}

// History ends the recording and returns what was recorded. The recorder must not be used
// afterwards.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &History{
		Stages: r.h.Stages, Decisions: r.h.Decisions, Publications: r.h.Publications, Acks: r.h.Acks,
		Rollbacks: r.h.Rollbacks, Limits: r.h.Limits,
	}
}
