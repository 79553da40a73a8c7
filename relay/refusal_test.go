package relay_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestRelayRefusesADatabaseThatIsNotItsOwn: Run ends with what is wrong and what to do,
// and does not wait for it to change.
func TestRelayRefusesADatabaseThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	installed := func(t *testing.T) *outboxtest.Database { return outboxtest.NewDatabase(t) }
	for _, c := range []struct {
		name     string
		database func(t *testing.T) *outboxtest.Database
		sql      string
		change   func(*relayConfig)
		is       error
		hint     string
	}{
		{
			name:     "nothing installed",
			database: func(t *testing.T) *outboxtest.Database { return outboxtest.NewEmptyDatabase(t) },
			is:       outbox.ErrSchemaMissing, hint: "outbox-gen write",
		},
		{
			name: "no component relay", database: outboxOnly,
			is: outbox.ErrSchemaMissing, hint: "outbox-gen write",
		},
		{
			name: "another schema", database: installed,
			change: func(c *relayConfig) { c.Schema = "elsewhere" },
			is:     outbox.ErrSchemaMissing, hint: "outbox-gen write",
		},
		{
			name: "a newer version", database: installed,
			sql: "UPDATE outbox.holdfast_schema SET version = version + 1 WHERE component = 'relay'",
			is:  outbox.ErrSchemaMismatch, hint: "upgrade this one",
		},
		{
			name: "an edited schema", database: installed,
			sql: "UPDATE outbox.holdfast_schema SET checksum = repeat('0', 64) WHERE component = 'outbox'",
			is:  outbox.ErrSchemaMismatch, hint: "outbox-gen verify",
		},
		{
			name: "another cluster", database: installed,
			sql: "UPDATE outbox.holdfast_schema SET system_identifier = 1",
			is:  outbox.ErrForeignCluster, hint: "relay rebase",
		},
		{
			name: "a cursor copied from another cluster", database: installed,
			sql: "UPDATE outbox.outbox_lane SET drained = '900000000000:900000000000:' WHERE lane = 3",
			is:  outbox.ErrForeignCluster, hint: "relay rebase",
		},
		{
			name: "a target copied from another cluster", database: installed,
			sql: "UPDATE outbox.outbox_lane SET target = '900000000000:900000000000:', pos = 1 WHERE lane = 3",
			is:  outbox.ErrForeignCluster, hint: "relay rebase",
		},
		{
			name: "an event copied from another cluster", database: installed,
			sql: "INSERT INTO outbox.event_outbox (event_id, source, type, tx) VALUES ('copied', '/test', 'test.happened', '900000000000')",
			is:  outbox.ErrForeignCluster, hint: "relay rebase",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &setup{t: t, db: c.database(t), nats: outboxtest.NewNATS(t)}
			s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
			if c.sql != "" {
				s.exec(c.sql)
			}
			var change []func(*relayConfig)
			if c.change != nil {
				change = append(change, c.change)
			}
			p := s.start(change...)
			select {
			case <-p.ended:
			case <-time.After(patience):
				t.Fatalf("the relay waits instead:\n%s", p.logs)
			}
			if !errors.Is(p.err, c.is) {
				t.Errorf("run: %v, want %v", p.err, c.is)
			}
			if hint := outbox.Hint(p.err); !strings.Contains(hint, c.hint) {
				t.Errorf("the hint is %q, want one with %q", hint, c.hint)
			}
			if p.Ready() == nil {
				t.Error("ready")
			}
		})
	}
}

// outboxOnly is a database without the component relay.
func outboxOnly(t *testing.T) *outboxtest.Database {
	t.Helper()
	db := outboxtest.NewEmptyDatabase(t)
	conn, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
	if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Outbox); err != nil {
		t.Fatalf("install: %v", err)
	}
	return db
}

// TestRelayRefusesARoleWithoutRights and a database that does not exist: nothing that waits
// would mend them either, and the error says what a person can do.
func TestRelayRefusesWhatOnlyAPersonCanMend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		url  func(s *setup) string
		hint string
	}{
		{"a role without rights", func(s *setup) string {
			role := "nobody_" + s.db.Name
			s.exec("CREATE ROLE " + role + " LOGIN")
			s.t.Cleanup(func() { _, _ = s.db.Pool.Exec(s.t.Context(), "DROP ROLE "+role) })
			return strings.Replace(s.relayURL(), "postgres@", role+"@", 1)
		}, "Grant the role"},
		{"a database that is not there", func(s *setup) string {
			return strings.Replace(s.relayURL(), s.db.Name, s.db.Name+"_gone", 1)
		}, "database name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			p := s.startOn(c.url(s), s.nats.URL())
			ended := func() bool {
				select {
				case <-p.ended:
					return true
				default:
					return false
				}
			}
			hidden := func() bool { return strings.Contains(p.logs.String(), poolerRefusal) && s.pooled() }
			s.eventually("the relay ends", func() bool { return ended() || hidden() })
			if !ended() { // it can't know what a pooler keeps to itself, and waits
				if log := p.logs.String(); !strings.Contains(log, "waiting for the database") || !strings.Contains(log, poolerHint) {
					t.Errorf("the log has no hint:\n%s", log)
				}
				return
			}
			if p.err == nil || !strings.Contains(outbox.Hint(p.err), c.hint) {
				t.Errorf("run: %v, with the hint %q, want one with %q", p.err, outbox.Hint(p.err), c.hint)
			}
		})
	}
}

// poolerRefusal is what a pooler says, whatever the server said to it.
const (
	poolerRefusal = "SQLSTATE 08P01"
	poolerHint    = "its message says why it refuses"
)

// TestReadOnlyServerIsNotThePrimary demotes the server under the relay.
func TestReadOnlyServerIsNotThePrimary(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start(func(c *relayConfig) { c.UnreadyAfter = 100 * time.Millisecond })
	s.stage("k", 5)
	s.eventually("5 events settled", func() bool { return s.settled() == 5 })
	readOnly := func(value string) {
		s.exec("ALTER DATABASE " + s.db.Name + " SET default_transaction_read_only = " + value)
		s.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", p.name)
	}
	readOnly("on")
	s.eventually("the log says so", func() bool {
		log := p.logs.String()
		return strings.Contains(log, "read-only") && strings.Contains(log, "connect to the primary")
	})
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	// Not terminated: the relay has to drop the connections itself.
	s.exec("ALTER DATABASE " + s.db.Name + " RESET default_transaction_read_only")
	s.renewSessions()
	s.stage("k", 5)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	s.eventually("ready", func() bool { return p.Ready() == nil })
}
