//go:build pooler

package relay_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// behind lets the relays of a test go through a pooler of its own kind.
func behind(t *testing.T, settings map[string]string) *setup {
	t.Helper()
	s := newSetup(t)
	s.pooler = outboxtest.NewPooler(t, s.db.URL, harness.PoolerOptions{Settings: settings})
	return s
}

// TestRelaysBehindAPoolerShareLanes: two relays have less sessions than connections, so that
// each gets what the other had a moment ago, and a lock of a session would be one for both. A
// lease is not: the lanes are shared, and those of a killed pod are taken over.
func TestRelaysBehindAPoolerShareLanes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings map[string]string
		sessions int // at most, for both
	}{
		{"transactions", map[string]string{"default_pool_size": "2"}, 2},
		{"transactions without prepared statements", map[string]string{"default_pool_size": "2", "max_prepared_statements": "0"}, 2},
		{"sessions", map[string]string{"pool_mode": "session", "default_pool_size": "40"}, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := behind(t, c.settings)
			first, second := s.start(), s.start()
			s.awaitLanes(8, 8)
			l := s.startLoad(4)
			for _, p := range []*pod{first, second} {
				before := s.settled()
				s.eventually("progress", func() bool { return s.settled() >= before+50 })
				if p.Ready() != nil {
					t.Errorf("not ready: %v", p.Ready())
				}
			}
			if n := query[int](s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = ANY($1)", []string{first.name, second.name}); n > c.sessions {
				t.Errorf("the relays have %d sessions, so they do not share them", n)
			}
			second.kill()
			s.awaitLanes(16)
			if owners := s.lanes(); owners[first.Owner()] != 16 {
				t.Errorf("lanes %v, want all with %s", owners, first.Owner())
			}
			l.stop()
			s.wantLogInStream()
			if n, want := s.settled(), s.logged(); n != want {
				t.Errorf("%d events settled, want %d, each once", n, want)
			}
		})
	}
}

// TestPoolerThatRefusesAStartUpParameter is waited for, with a hint. Without the parameter, which
// no relay sends of itself, it refuses nothing.
func TestPoolerThatRefusesAStartUpParameter(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.startOn(s.relayURL("statement_timeout", "60000"), s.nats.URL())
	s.eventually("the hint", func() bool { return strings.Contains(p.logs.String(), "a start-up parameter that it does not know") })
	if !strings.Contains(p.logs.String(), "statement_timeout") {
		t.Errorf("the log does not say which:\n%s", p.logs)
	}
	s.stage("k", 10)
	s.start()
	s.wantLogInStream()
}

// TestReadOnlySessionOfAPooler: another client left the sessions of the pooler read-only. The
// relay undoes that, once for each of them, and drains.
func TestReadOnlySessionOfAPooler(t *testing.T) {
	t.Parallel()
	s := behind(t, map[string]string{"default_pool_size": "2"})
	p := s.start()
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	// Each in a transaction of its own until both are open, so that they get different sessions.
	var others [2]*pgx.Conn
	for i := range others {
		var err error
		if others[i], err = pgx.Connect(t.Context(), s.relayURL()); err != nil {
			t.Fatal(err)
		}
		defer others[i].Close(context.Background()) //nolint:errcheck // ends with the pooler
		outboxtest.Exec(s.t, others[i], "BEGIN")
		outboxtest.Exec(s.t, others[i], "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
	}
	for _, other := range others {
		outboxtest.Exec(s.t, other, "COMMIT")
	}
	s.eventually("the relay says so", func() bool {
		return strings.Contains(p.logs.String(), "read-only") && strings.Contains(p.logs.String(), "RECONNECT")
	})
	s.stage("k", 50)
	s.wantLogInStream()
	late := s.start()
	s.awaitLanes(8, 8)
	for _, p := range []*pod{p, late} {
		s.eventually("ready", func() bool { return p.Ready() == nil })
	}
}

// TestListenThroughAPoolerIsFound: the pooler takes a LISTEN and swallows the notifications. The relay
// says so, and polls.
func TestListenThroughAPoolerIsFound(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start(func(c *relayConfig) { c.ListenChannel, c.AckTimeout = outbox.WakeChannel, 500*time.Millisecond })
	s.eventually("it is told", func() bool {
		return strings.Contains(p.logs.String(), "no wake-ups by LISTEN") && strings.Contains(p.logs.String(), "pooler in transaction mode")
	})
	s.stage("k", 5)
	s.wantLogInStream()
}
