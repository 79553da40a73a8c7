package rebase_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/rebase"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// moved makes a database look as if it came from another cluster, without old ids.
func moved(t *testing.T) *store {
	t.Helper()
	s := open(t, outboxtest.NewDatabase(t).URL)
	s.stage("k", 10)
	s.exec("UPDATE outbox.holdfast_schema SET system_identifier = 42")
	return s
}

// state is everything that a rebase could change.
func (s *store) state() string {
	s.t.Helper()
	return one[string](s, `SELECT concat_ws(E'\n', (SELECT string_agg(e::text, E'\n' ORDER BY e.lane, e.seq) FROM outbox.event_outbox e),
		(SELECT string_agg(l::text, E'\n' ORDER BY l.relay_group, l.lane) FROM outbox.outbox_lane l),
		(SELECT string_agg(h::text, E'\n' ORDER BY h.component) FROM outbox.holdfast_schema h), (SELECT last_value FROM outbox.event_outbox_seq))`)
}

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	s := open(t, outboxtest.NewDatabase(t).URL)
	s.stage("k", 10)
	before := s.state()
	plan, err := rebase.MakePlan(t.Context(), s.pool, rebase.Config{})
	if err != nil || plan.Needed || plan.Stored != plan.Actual {
		t.Errorf("plan %+v, %v", plan, err)
	}
	if _, err := rebase.Apply(t.Context(), s.pool, rebase.Config{}); !errors.Is(err, rebase.ErrNothingToDo) {
		t.Errorf("apply: %v", err)
	}
	if diff := cmp.Diff(before, s.state()); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

// TestRefusals: what is refused changes nothing, and says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare string
		is      error
		hint    string
	}{
		"live lease": {`UPDATE outbox.outbox_lane SET lease_owner = 'pod-a', lease_token = gen_random_uuid(),
			lease_until = clock_timestamp() + interval '1 hour' WHERE lane = 3`, nil, "stop every relay"},
		"another version": {"UPDATE outbox.holdfast_schema SET version = 99 WHERE component = 'relay'", outbox.ErrSchemaMismatch, "upgrade"},
		"changed schema":  {"ALTER SEQUENCE outbox.event_outbox_seq CACHE 20", outbox.ErrSchemaMismatch, "CACHE 1"},
		"no schema":       {"DROP SCHEMA outbox CASCADE", outbox.ErrSchemaMissing, "outbox-gen write"},
		"read-only":       {"ALTER ROLE CURRENT_USER IN DATABASE %s SET default_transaction_read_only = on", nil, "connect to the primary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := moved(t)
			s.exec(strings.ReplaceAll(c.prepare, "%s", one[string](s, "SELECT current_database()")))
			var before string
			if name != "no schema" {
				before = s.state()
			}
			s.pool.Reset() // so that settings of the role count
			_, err := rebase.Apply(t.Context(), s.pool, rebase.Config{})
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(outbox.Hint(err), c.hint) {
				t.Fatalf("error %v, hint %q", err, outbox.Hint(err))
			}
			var lease *rebase.LiveLeaseError
			if errors.As(err, &lease) != (name == "live lease") || lease != nil && (lease.Leases[0].Lane != 3 || lease.Leases[0].Owner != "pod-a") {
				t.Errorf("error %v", err)
			}
			if before != "" {
				if diff := cmp.Diff(before, s.state()); diff != "" {
					t.Errorf("something changed:\n%s", diff)
				}
			}
		})
	}
}

// TestRelayRoleMayNotRebase: whoever drains changes no event.
func TestRelayRoleMayNotRebase(t *testing.T) {
	t.Parallel()
	s := moved(t)
	role := one[string](s, "SELECT current_database()") + "_relay"
	sql, err := gen.Roles(canonical.DefaultParams(), gen.RoleNames{canonical.Drainer: role})
	if err != nil {
		t.Fatal(err)
	}
	s.exec(sql)
	s.exec("ALTER ROLE " + role + " LOGIN")
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	limited := open(t, u.String())
	before := s.state()
	for name, call := range map[string]func(context.Context, rebase.DB, rebase.Config) (*rebase.Plan, error){"plan": rebase.MakePlan, "apply": rebase.Apply} {
		if _, err := call(t.Context(), limited.pool, rebase.Config{}); !strings.Contains(outbox.Hint(err), "owner of the schema") {
			t.Errorf("%s: error %v, hint %q", name, err, outbox.Hint(err))
		}
	}
	if diff := cmp.Diff(before, s.state()); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}

// TestLock: a transaction that stages makes the rebase wait, for so long and no longer, and those
// that come after it wait for the rebase. What both staged is drained afterwards.
func TestLock(t *testing.T) {
	t.Parallel()
	s := moved(t)
	first, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(t.Context()) //nolint:errcheck // committed by then
	if _, err := outbox.PublishTx(t.Context(), first, events("k", 1, 10)...); err != nil {
		t.Fatal(err)
	}
	_, err = rebase.Apply(t.Context(), s.pool, rebase.Config{LockTimeout: 50 * time.Millisecond})
	if !strings.Contains(outbox.Hint(err), "a transaction holds the log") {
		t.Errorf("error %v, hint %q", err, outbox.Hint(err))
	}

	waiting := func(n int) func() bool {
		return func() bool {
			return one[int](s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == n
		}
	}
	done := make(chan error, 2)
	go func() {
		_, err := rebase.Apply(t.Context(), s.pool, rebase.Config{LockTimeout: time.Minute})
		done <- err
	}()
	eventually(t, "the rebase waits", waiting(1))
	go func() {
		done <- pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
			_, err := outbox.PublishTx(t.Context(), tx, events("k", 1, 10)...)
			return err
		})
	}()
	eventually(t, "a later transaction waits behind it", waiting(2))
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	n := one[int](s, `SELECT count(*) FROM outbox.event_outbox e JOIN outbox.outbox_lane l ON l.lane = e.lane AND NOT pg_visible_in_snapshot(e.tx, l.drained)`)
	if n != 12 {
		t.Errorf("%d events are undrained, want 12", n)
	}
}

// TestIdsOfTheFuture: a copy into a schema that was installed in the new cluster has the right
// identity and the wrong ids.
func TestIdsOfTheFuture(t *testing.T) {
	t.Parallel()
	s := open(t, outboxtest.NewDatabase(t).URL)
	s.stage("k", 10)
	s.exec("UPDATE outbox.outbox_lane SET drained = '1000000000:1000000000:'")
	plan, err := rebase.Apply(t.Context(), s.pool, rebase.Config{})
	if err != nil || plan.Stored != plan.Actual || plan.StagedHere != 10 || plan.Groups[0].Undrained != 10 {
		t.Errorf("plan %+v, %v", plan, err)
	}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"outbox", "shop_events"} {
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
		outboxtest.Prepare(t, db.URL, rebase.StatementTexts(schema))
		if _, err := conn.Exec(t.Context(), "UPDATE "+schema+".holdfast_schema SET system_identifier = 42"); err != nil {
			t.Fatal(err)
		}
		if _, err := rebase.Apply(t.Context(), conn, rebase.Config{Schema: schema}); err != nil {
			t.Errorf("rebase schema %s: %v", schema, err)
		}
	}
}
