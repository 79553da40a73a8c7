package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// TestSchemaChangesUnderARunningRelay: a service migrates its own tables, and ours are changed in ways that
// leave every statement valid. Prepared statements whose result has another type now fail once
// (0A000), those that are gone fail once (26000), and the relay goes on without a restart.
func TestSchemaChangesUnderARunningRelay(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start(func(c *relayConfig) { c.Lease = 10 * time.Second })
	l := s.startLoad(4)
	s.awaitMoreSettled(200)
	for _, change := range []string{
		"CREATE TABLE orders (id bigint PRIMARY KEY); ALTER TABLE key_state ADD COLUMN note text; ALTER TABLE key_state ALTER COLUMN note TYPE varchar(9)",
		"ALTER TABLE outbox.outbox_lane ADD COLUMN note text; ALTER TABLE outbox.event_outbox ADD COLUMN note text",
		"DROP VIEW outbox.event_outbox_info; ALTER TABLE outbox.event_outbox ALTER COLUMN dataschema TYPE varchar(1024)",
		"CREATE INDEX ON outbox.event_outbox (type)",
		"ALTER TABLE outbox.event_outbox ALTER COLUMN dataschema TYPE text",
	} {
		s.exec("SET lock_timeout = 0; " + change)
		if s.pooled() { // one that keeps prepared statements keeps those of before
			s.renewSessions()
		}
		s.awaitMoreSettled(200)
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
	if log := s.db.ServerLog(t); !s.pooled() && !strings.Contains(log, "sqlstate=0A000") {
		t.Error("no statement failed with 0A000: the changes did not touch a prepared statement")
	}
	if err := p.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
	if log := p.logs.String(); strings.Contains(log, "lanes lost") {
		t.Errorf("the relay lost lanes:\n%s", log)
	}
}

// TestPreparedStatementsThatAreGone: a statement that was prepared is unknown (26000), or its name is taken
// (42P05), as behind a pooler that gives a client another server connection.
func TestPreparedStatementsThatAreGone(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	proxy, err := fault.NewPostgresProxy(s.relayURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() }) // what it carried has ended
	address, err := proxy.URL(s.relayURL())
	if err != nil {
		t.Fatal(err)
	}
	p := s.startOn(address, s.nats.URL(), func(c *relayConfig) { c.Lease = 10 * time.Second })
	s.awaitLanes(16)
	for _, state := range []string{"26000", "42P05"} {
		rule := proxy.Add(fault.PostgresRule{Match: fault.AnyStatement, Times: 10, Do: fault.Fail(state)})
		s.stage("k", 20)
		s.stage("", 100)
		s.wantLogInStream()
		s.eventually("the rule has acted", func() bool { return rule.Hits() == 10 })
		s.eventually("ready", func() bool { return p.Ready() == nil })
	}
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
}
