//go:build pooler

package relay_test

import (
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// route is how the relays of a test get to their database: with the build tag pooler, all of them go
// through pgbouncer in transaction mode. What the tests look at and do themselves stays direct.
type route struct{ pooler *harness.Pooler }

func (r *route) to(s *setup) string {
	s.t.Helper()
	if r.pooler == nil {
		r.pooler = outboxtest.NewPooler(s.t, s.db.URL, harness.PoolerOptions{})
	}
	url, err := r.pooler.URL(s.db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return url
}

// pooled says that what the server answers to a login may come to a relay with another SQLSTATE.
func (s *setup) pooled() bool { return true }

// prepares says whether the relays prepare statements. Without them results come as text, in which
// a payload is twice as long.
func (s *setup) prepares() bool { return s.pooler.KeepsStatements() }

// otherQueryModes are those that need nothing of a session. describe_exec does: its statement has
// no name, and is executed in a transaction of its own.
var otherQueryModes = []string{"exec", "cache_describe"}

// killBackends ends what would go on without a pod that is killed. The sessions are the pooler's, and
// the others may be somebody else's by now.
const killBackends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'"

// renewSessions lets the pooler drop its sessions, as an operator would after a failover.
func (s *setup) renewSessions() {
	s.t.Helper()
	if s.pooler == nil {
		s.t.Fatal("no relay was started")
	}
	url, err := s.pooler.URL("postgres://postgres@/pgbouncer?sslmode=disable&default_query_exec_mode=simple_protocol")
	if err != nil {
		s.t.Fatal(err)
	}
	console, err := pgx.Connect(s.t.Context(), url)
	if err != nil {
		s.t.Fatalf("connect to the pooler's console: %v", err)
	}
	defer console.Close(s.t.Context()) //nolint:errcheck // ends with the pooler
	if _, err := console.Exec(s.t.Context(), "RECONNECT"); err != nil {
		s.t.Fatalf("reconnect the pooler: %v", err)
	}
}
