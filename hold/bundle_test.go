package hold_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitLimit bounds every wait for another connection.
const waitLimit = 90 * time.Second

// testBundle is a database, and an operation that nobody knows yet.
type testBundle struct {
	*outboxtest.Database
	hold outbox.Hold
}

func setup(t testing.TB) *testBundle {
	t.Helper()
	return (&testBundle{Database: outboxtest.NewDatabase(t)}).another()
}

// setupActive is setup with the generation registered.
func setupActive(t testing.TB) *testBundle {
	t.Helper()
	b := setup(t)
	b.register(t, b.hold)
	return b
}

func (b *testBundle) register(t testing.TB, h outbox.Hold) {
	t.Helper()
	if _, err := hold.Register(t.Context(), b.Pool, h, "test"); err != nil {
		t.Fatalf("register: %v", err)
	}
}

// another is another operation in the same database.
func (b *testBundle) another() *testBundle {
	return &testBundle{Database: b.Database, hold: outbox.Hold{Operation: uuid.New(), Generation: 1}}
}

// anotherActive is another with the generation registered.
func (b *testBundle) anotherActive(t testing.TB) *testBundle {
	t.Helper()
	a := b.another()
	a.register(t, a.hold)
	return a
}

// generation is the same operation's generation n.
func (b *testBundle) generation(n int) outbox.Hold {
	return outbox.Hold{Operation: b.hold.Operation, Generation: n}
}

// begin opens a transaction that the end of the test rolls back unless it has ended.
func (b *testBundle) begin(t testing.TB, options pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := b.Pool.BeginTx(t.Context(), options)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_ = tx.Rollback(ctx) // reports only that the transaction is over
	})
	return tx
}

// stage stages held events with these ids in one call.
func stage(ctx context.Context, db hold.DB, h outbox.Hold, ids ...string) error {
	sources, types := make([]string, len(ids)), make([]string, len(ids))
	bodies := make([][]byte, len(ids))
	for i, id := range ids {
		sources[i], types[i], bodies[i] = "/test", "thing.made", []byte(id)
	}
	nothing := make([]*string, len(ids))
	rows, err := db.Query(ctx, `SELECT outbox.publish_events_held($1, $2, $3, $4, $5, $6, $6, $6, $6, $6, $6, $7)`,
		h.Operation.String(), h.Generation, ids, sources, types, nothing, bodies)
	if err != nil {
		return err
	}
	_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	return err
}

func (b *testBundle) stage(t testing.TB, db hold.DB, h outbox.Hold, ids ...string) {
	t.Helper()
	if err := stage(t.Context(), db, h, ids...); err != nil {
		t.Fatalf("stage %v: %v", ids, err)
	}
}

// names returns n ids that sort in their order.
func names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%06d", prefix, i)
	}
	return ids
}

// read returns one value.
func read[T any](t testing.TB, db hold.DB, sql string, args ...any) T {
	t.Helper()
	return outboxtest.One[T](t, db, sql, args...)
}

// column returns the values of the first column.
func column[T any](t testing.TB, db hold.DB, sql string, args ...any) []T {
	t.Helper()
	return outboxtest.All[T](t, db, sql, args...)
}

// log returns the ids of the events that a relay can see, in the order of the log. Those of
// other operations are not among them.
func (b *testBundle) log(t testing.TB) []string {
	t.Helper()
	return column[string](t, b.Pool, `SELECT event_id FROM outbox.event_outbox 
		WHERE tx IS NOT NULL AND (hold_operation_id = $1 OR hold_operation_id IS NULL) ORDER BY seq`, b.hold.Operation)
}

// held counts the events of the operation that wait.
func (b *testBundle) held(t testing.TB) int {
	t.Helper()
	return read[int](t, b.Pool, `SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL AND hold_operation_id = $1`, b.hold.Operation)
}

// waitBlocked returns when the connection of tx waits for a lock of someone else.
func waitBlocked(t testing.TB, pool *pgxpool.Pool, pid uint32) {
	t.Helper()
	outboxtest.Eventually(t, waitLimit, fmt.Sprintf("backend %d waits for a lock", pid), func() bool {
		return read[bool](t, pool, `SELECT cardinality(pg_blocking_pids($1)) > 0`, pid)
	})
}

// call is a call that runs on its own connection.
type call struct {
	pid  uint32
	done chan error // receives once
}

// start runs f in a transaction of its own, and commits it when f succeeds.
func (b *testBundle) start(t testing.TB, options pgx.TxOptions, f func(tx pgx.Tx) error) *call {
	t.Helper()
	tx := b.begin(t, options)
	c := &call{pid: tx.Conn().PgConn().PID(), done: make(chan error, 1)}
	go func() {
		if err := f(tx); err != nil {
			c.done <- err
			return
		}
		c.done <- tx.Commit(t.Context())
	}()
	return c
}

// wait returns what the call returned.
func (c *call) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(waitLimit):
		t.Fatalf("backend %d did not finish", c.pid)
		return nil
	}
}

// waitBlockedOrDone returns when the call waits for a lock, or has ended.
func (c *call) waitBlockedOrDone(t testing.TB, b *testBundle) {
	t.Helper()
	outboxtest.Eventually(t, waitLimit, fmt.Sprintf("backend %d waits for a lock, or has finished", c.pid), func() bool {
		return len(c.done) > 0 || read[bool](t, b.Pool, `SELECT cardinality(pg_blocking_pids($1)) > 0`, c.pid)
	})
}
