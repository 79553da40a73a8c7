package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestStatementsPrepare prepares every statement on a migrated database, in the default
// schema and in another one. None takes a time: the clock of the database decides.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"outbox", "shop_events"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewEmptyDatabase(t)
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
			params := canonical.DefaultParams()
			params.Schema = schema
			if err := gen.Install(t.Context(), conn, params, canonical.Outbox, canonical.Relay); err != nil {
				t.Fatalf("install: %v", err)
			}
			outboxtest.PrepareTimeless(t, db.URL, relay.StatementTexts(schema))
		})
	}
}

// TestOtherQueryModesDrain: poolers in transaction mode want statements without names.
func TestOtherQueryModesDrain(t *testing.T) {
	t.Parallel()
	for _, mode := range otherQueryModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			for range 4 {
				s.stage("", 500)
			}
			s.stage("k", 20)
			p := s.startOn(s.relayURL("default_query_exec_mode", mode), s.nats.URL(), func(c *relayConfig) { c.BatchSize = 50 })
			s.wantLogInStream()
			claimed := query[time.Time](s, "SELECT min(lease_until) FROM outbox.outbox_lane")
			s.eventually("all leases are renewed", func() bool {
				return query[bool](s, "SELECT min(lease_until) > $1 FROM outbox.outbox_lane", claimed)
			})
			if strings.Contains(p.logs.String(), "lanes lost") {
				t.Errorf("the relay lost lanes:\n%s", p.logs)
			}
			if err := p.stopAndWait(); err != nil {
				t.Errorf("run: %v", err)
			}
			if n := query[int](s, "SELECT count(*) FROM outbox.outbox_lane WHERE lease_owner IS NOT NULL"); n != 0 {
				t.Errorf("%d lanes were not handed back:\n%s", n, p.logs)
			}
			for line := range strings.Lines(s.db.ServerLog(t)) {
				if strings.Contains(line, " ERROR: ") && !strings.Contains(line, "sqlstate=57014") { // a stop cancels what runs
					t.Errorf("the server logged: %s", line)
				}
			}
		})
	}
}
