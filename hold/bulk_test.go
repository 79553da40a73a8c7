package hold_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

const many = 10_000

// stageMany stages that many events of one generation, in transactions of 500.
func (b *testBundle) stageMany(t testing.TB, n int) []string {
	t.Helper()
	ids := names("held", n)
	for i := 0; i < n; i += 500 {
		b.stage(t, b.Pool, b.hold, ids[i:min(i+500, n)]...)
	}
	return ids
}

// While the release of ten thousand events is open, others stage, publish, register and
// release without waiting for it; afterwards all its events are in the log, in the order
// of staging.
func TestTenThousandEventsAreReleasedInOneCallBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	held := b.stageMany(t, many)
	live := func(n int) {
		t.Helper()
		err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '1s'`); err != nil { // fails instead of waiting
				return err
			}
			read[string](t, tx, `SELECT outbox.publish('/test', 'thing.made', id => $1)`, fmt.Sprintf("live-%d", n))
			other := b.another()
			if _, err := hold.Register(t.Context(), tx, other.hold, "test"); err != nil {
				return err
			}
			if err := stage(t.Context(), tx, other.hold, "other"); err != nil {
				return err
			}
			_, err := hold.Release(t.Context(), tx, other.hold, "test")
			return err
		})
		if err != nil {
			t.Errorf("live traffic %d: %v", n, err)
		}
	}

	live(0)
	release := b.begin(t, pgx.TxOptions{})
	began := time.Now()
	got, err := hold.Release(t.Context(), release, b.hold, "test")
	took := time.Since(began)
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	for n := 1; n <= 20; n++ {
		live(n)
	}
	if err := release.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	t.Logf("released %d events in %v", many, took)

	if diff := cmp.Diff(hold.Answer{State: hold.Released, MaxGeneration: 1, Released: many, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	ours := column[string](t, b.Pool, `SELECT event_id FROM outbox.event_outbox WHERE tx IS NOT NULL AND hold_operation_id = $1 ORDER BY seq`, b.hold.Operation)
	if diff := cmp.Diff(held, ours); diff != "" {
		t.Errorf("released events (-staged +log):\n%s", diff)
	}
}

// The cost follows the events of the generation, not those that are retained, whatever
// the planner believes. The worst is a plan that was made and kept while the log was
// empty, when reading all of it looked cheapest.
func TestCallsNeverScanTheLog(t *testing.T) {
	t.Parallel()
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			db := setup(t)
			if _, err := db.Pool.Exec(t.Context(), `VACUUM ANALYZE outbox.event_outbox`); err != nil {
				t.Fatalf("vacuum: %v", err)
			}
			conn, err := db.Pool.Acquire(t.Context()) // the plans are those of a connection
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			run := func(db hold.DB, b *testBundle) {
				t.Helper()
				if _, err := hold.Register(t.Context(), db, b.hold, "test"); err != nil {
					t.Fatalf("register: %v", err)
				}
				if _, err := hold.State(t.Context(), db, b.hold); err != nil {
					t.Fatalf("state: %v", err)
				}
				if _, err := d.decide(t, db, b.hold); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			for range 10 { // more than Postgres takes to settle for a plan
				run(conn, db.another())
			}
			if _, err := db.Pool.Exec(t.Context(), `
				INSERT INTO outbox.event_outbox (slot, event_id, source, type)
				SELECT n % 4, n, '/test', 'thing.made' FROM generate_series(1, 20000) AS n`); err != nil {
				t.Fatalf("fill the log: %v", err)
			}
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, names("e", 20)...)
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			run(tx, b)
			// The counters of the transaction itself, so that nothing else is in them.
			const touched = `
				SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables
				 WHERE schemaname = 'outbox' AND relname LIKE 'event\_outbox\_%'`
			if n := read[int](t, tx, touched); n > 200 {
				t.Errorf("the calls read %d rows of the log for 20 events", n)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatalf("commit: %v", err)
			}
		})
	}
}
