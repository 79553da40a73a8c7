package relay_test

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// publications counts how often each event was published, also where the stream dropped a
// duplicate: it listens on the subjects themselves.
type publications struct {
	mu sync.Mutex
	n  map[string]int // by event id
}

func (s *setup) countPublications() *publications {
	s.t.Helper()
	nc, err := nats.Connect(s.nats.URL(), nats.MaxReconnects(-1))
	if err != nil {
		s.t.Fatalf("connect to NATS: %v", err)
	}
	s.t.Cleanup(nc.Close)
	p := &publications{n: map[string]int{}}
	sub, err := nc.Subscribe("events.>", func(m *nats.Msg) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.n[m.Header.Get("ce-id")]++
	})
	if err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
	if err := nc.Flush(); err != nil {
		s.t.Fatalf("subscribe: %v", err)
	}
	return p
}

func (p *publications) of(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n[id]
}

// events returns how many events were published, and how many publications were repetitions.
func (p *publications) events() (events, repeated int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.n {
		events++
		repeated += n - 1
	}
	return events, repeated
}
