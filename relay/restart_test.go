package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// newSetupIn is a setup with a cluster of the test's own, to stop and start.
func newSetupIn(t *testing.T, settings map[string]string) (*setup, *harness.Postgres) {
	t.Helper()
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{Settings: settings})
	s := &setup{t: t, db: outboxtest.NewDatabaseIn(t, pg), nats: outboxtest.NewNATS(t)}
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	return s, pg
}

func (s *setup) restart(pg *harness.Postgres, mode string) {
	s.t.Helper()
	s.stopDatabase(pg, mode)
	s.startDatabase(pg)
}

func (s *setup) stopDatabase(pg *harness.Postgres, mode string) {
	s.t.Helper()
	if err := pg.Stop(s.t.Context(), mode); err != nil {
		s.t.Fatalf("stop Postgres: %v", err)
	}
}

func (s *setup) startDatabase(pg *harness.Postgres) {
	s.t.Helper()
	if err := pg.Start(s.t.Context()); err != nil {
		s.t.Fatalf("start Postgres: %v", err)
	}
	s.db.Pool.Reset()
}

func TestDatabaseRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, nil)
	p := s.start()
	l := s.startLoad(6)
	for _, mode := range []string{"immediate", "fast", "immediate", "fast"} {
		before := s.count()
		s.eventually("progress", func() bool { return s.count() >= before+200 })
		s.restart(pg, mode)
	}
	before := s.count()
	s.eventually("progress after the last restart", func() bool { return s.count() >= before+200 })
	l.stop()
	s.wantLogInStream()
	if l.failed.Load() == 0 {
		t.Error("no transaction failed: the restarts did nothing")
	}
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if n := p.logs.lines(); n > 100 {
		t.Errorf("%d log lines:\n%s", n, p.logs)
	}
}

func TestBackendsTerminatedUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start()
	l := s.startLoad(4)
	for terminated := 0; terminated < 60; {
		before := s.count()
		s.eventually("progress", func() bool { return s.count() >= before+50 })
		terminated += query[int](s, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1", p.name)
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
}

// TestEventsAfterACrashAreNotTakenForDrained: a server that crashed hands out transaction ids
// again whose WAL was lost. A cursor in memory from before would call their events drained.
func TestEventsAfterACrashAreNotTakenForDrained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		crash func(s *setup, pg *harness.Postgres)
	}{
		{"the server restarts", func(s *setup, pg *harness.Postgres) { s.restart(pg, "immediate") }},
		{"the server recovers by itself", func(s *setup, _ *harness.Postgres) { s.crashBackend() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, pg := newSetupIn(t, map[string]string{"wal_writer_delay": "10s"}) // nothing is flushed that need not be
			p := s.start(func(c *relayConfig) { c.Lease = time.Minute })
			s.stage("k", 1)
			s.eventually("the event is settled", func() bool { return s.settled() == 1 })
			staged := 1
			s.untilTried(func() bool {
				last := s.burnTransactions(100)
				s.awaitLooks(p, 3)
				c.crash(s, pg)
				// In every lane, with the ids of the transactions that never were.
				var want []string
				for range 40 {
					want = append(want, s.stage("", 1)...)
				}
				staged += len(want)
				s.awaitStream(staged)
				return query[int64](s, "SELECT min(tx::text::bigint) FROM outbox.event_outbox WHERE event_id = ANY($1)", want) <= last
			})
			s.wantLogInStream()
		})
	}
}

// TestBatchReadBeforeACrashIsNotSettledAfterIt keeps a batch in flight over a crash.
func TestBatchReadBeforeACrashIsNotSettledAfterIt(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, map[string]string{"wal_writer_delay": "10s"})
	wire := newLink(t, s.nats.URL())
	s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.Lease = time.Minute; c.AckTimeout = time.Minute })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	staged := 1
	s.untilTried(func() bool {
		wire.holdReplies()
		last := s.burnTransactions(100)
		s.stageLazily("k")
		s.eventually("an event is in flight", func() bool { return s.count() == staged+1 })
		s.restart(pg, "immediate")
		wire.resume()
		// The batch in flight was read with a snapshot that calls this one finished.
		s.stage("k", 1)
		staged += 2
		s.awaitStream(staged)
		return query[int64](s, "SELECT max(tx::text::bigint) FROM outbox.event_outbox") <= last
	})
}

// untilTried repeats a crash until it lost transaction ids, which depends on what the server
// had written by then.
func (s *setup) untilTried(try func() bool) {
	s.t.Helper()
	for range 10 {
		if try() {
			return
		}
	}
	s.t.Fatal("no crash lost a transaction id, so nothing was tested")
}

// burnTransactions rolls back n transactions that have an id, and returns the last of the ids.
func (s *setup) burnTransactions(n int) (last int64) {
	s.t.Helper()
	for range n {
		err := pgx.BeginFunc(s.t.Context(), s.db.Pool, func(tx pgx.Tx) error {
			if err := tx.QueryRow(s.t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&last); err != nil {
				return err
			}
			return errRollback
		})
		if !errors.Is(err, errRollback) {
			s.t.Fatalf("burn transaction ids: %v", err)
		}
	}
	return last
}

// stageLazily commits an event without waiting for its WAL.
func (s *setup) stageLazily(key string) {
	s.t.Helper()
	s.exec("BEGIN; SET LOCAL synchronous_commit = off; SELECT outbox.publish('/test', 'test.happened', partitionkey => '" + key + "'); COMMIT")
}

// awaitLooks waits until the relay has looked for events n times and has seen the answers.
func (s *setup) awaitLooks(p *pod, n int) {
	s.t.Helper()
	for range n {
		since := query[time.Time](s, "SELECT clock_timestamp()")
		s.eventually("the relay looks for events", func() bool {
			return query[bool](s, `SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE application_name = $1 AND query LIKE '-- Which of these lanes%' AND state = 'idle' AND query_start > $2)`, p.name, since)
		})
	}
}

// crashBackend kills a backend, which makes the server throw out everybody and recover.
func (s *setup) crashBackend() {
	s.t.Helper()
	started := query[time.Time](s, "SELECT pg_postmaster_start_time()")
	var conns [2]*pgx.Conn
	for i := range conns {
		var err error
		if conns[i], err = pgx.Connect(s.t.Context(), s.db.URL); err != nil {
			s.t.Fatalf("connect: %v", err)
		}
		defer conns[i].Close(context.Background()) //nolint:errcheck // broken
	}
	killProcess(s.t, int(conns[0].PgConn().PID()))
	s.eventually("the other connections break", func() bool { return conns[1].Ping(s.t.Context()) != nil })
	s.eventually("the server answers", func() bool {
		s.db.Pool.Reset()
		return s.db.Pool.Ping(s.t.Context()) == nil
	})
	if now := query[time.Time](s, "SELECT pg_postmaster_start_time()"); !now.Equal(started) {
		s.t.Fatalf("the server started again at %s, it should only recover", now)
	}
}

// TestDatabaseAwayForLongerThanALease: the lanes are given up, the relay says that it is
// not ready for as long as it lasts and nothing else, and all is as before afterwards.
func TestDatabaseAwayForLongerThanALease(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, nil)
	p := s.start(func(c *relayConfig) { c.Lease = time.Second; c.UnreadyAfter = 500 * time.Millisecond })
	s.stage("k", 10)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	s.stopDatabase(pg, "fast")
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	s.eventually("the lanes are given up", func() bool { return strings.Contains(p.logs.String(), "lanes lost") })
	lines := p.logs.lines()
	wait := time.After(3 * time.Second) // the outage, in which nothing may change
	for waiting := true; waiting; {
		if p.Ready() == nil {
			t.Fatalf("the relay says that it is ready while the database is away:\n%s", p.logs)
		}
		select {
		case <-wait:
			waiting = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	if n := p.logs.lines() - lines; n > 1 {
		t.Errorf("%d log lines in 3 s of outage:\n%s", n, p.logs)
	}
	s.startDatabase(pg)
	s.eventually("ready", func() bool { return p.Ready() == nil })
	s.stage("k", 10)
	s.wantLogInStream()
}

func TestRelayThatStartsFirstWaitsForItsServers(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, nil)
	want := s.stage("k", 10)
	s.stopDatabase(pg, "fast")
	s.nats.Stop()
	p := s.start()
	s.eventually("it waits for the database", func() bool { return strings.Contains(p.logs.String(), "waiting for the database") })
	if p.Ready() == nil {
		t.Error("ready without a database")
	}
	s.startDatabase(pg)
	s.eventually("it waits for the broker", func() bool { return strings.Contains(p.logs.String(), "waiting for the broker") })
	if p.Ready() == nil {
		t.Error("ready without a broker")
	}
	if err := s.nats.Start(); err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	s.eventually("ready", func() bool { return p.Ready() == nil })
	s.wantLogInStream()
	if n := s.count(); n != len(want) {
		t.Errorf("%d messages, want %d", n, len(want))
	}
}
