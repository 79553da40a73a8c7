package main

import (
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// proxyOf puts a proxy in front of a database.
func (s *stack) proxyOf(db *outboxtest.Database) (*fault.PostgresProxy, string) {
	s.t.Helper()
	proxy, err := fault.NewPostgresProxy(db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			s.t.Errorf("close the proxy: %v", err)
		}
	})
	url, err := proxy.URL(db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return proxy, url
}

// doomed is a replica whose database is gone from a statement on: the nth that matches. Nothing that it
// would do afterwards gets through, so that for everybody else it has died there. done says
// that the statement itself was executed, and its answer was lost.
func (s *stack) doomed(match func(*fault.PostgresMessage) bool, nth int, done bool) *replica {
	s.t.Helper()
	proxy, url := s.proxyOf(s.intake)
	var dead atomic.Bool
	var seen atomic.Int64
	last := fault.CutBefore()
	if done {
		last = fault.CutAfter()
	}
	proxy.Add(fault.PostgresRule{Times: 1, Do: last, Match: func(m *fault.PostgresMessage) bool {
		if dead.Load() || !match(m) || seen.Add(1) < int64(nth) {
			return false
		}
		dead.Store(true)
		return true
	}})
	proxy.Add(fault.PostgresRule{Do: fault.CutBefore(), Match: func(*fault.PostgresMessage) bool { return dead.Load() }})
	return s.replicaAt(url)
}

// recordsStep matches the statement by which the coordinator notes what a step has answered.
var recordsStep = fault.Executes("INSERT INTO outbox.saga_step")

// commitsFinal matches the commit of the final transaction. Use one for each replica.
func commitsFinal() func(*fault.PostgresMessage) bool {
	completes := fault.Executes("SET state = 'completed'")
	var completed atomic.Bool
	return func(m *fault.PostgresMessage) bool {
		if completes(m) {
			completed.Store(true)
		}
		return completed.Load() && fault.Commits(m)
	}
}

// throughProxy serves the registry from its database through a proxy.
func (s *stack) throughProxy() *fault.PostgresProxy {
	s.t.Helper()
	proxy, url := s.proxyOf(s.registry)
	pool := outboxtest.NewPool(s.t, url)
	s.serveRegistry(pool)
	return proxy
}

// fragileRegistry serves the registry from a database that cuts its connection right after the commit of
// a transaction, whenever it is armed.
func (s *stack) fragileRegistry() (arm func()) {
	s.t.Helper()
	var armed atomic.Bool
	s.throughProxy().Add(fault.PostgresRule{Do: fault.CutAfter(), Match: func(m *fault.PostgresMessage) bool {
		return fault.Commits(m) && armed.CompareAndSwap(true, false)
	}})
	return func() { armed.Store(true) }
}
