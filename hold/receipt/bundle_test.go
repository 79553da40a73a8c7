package receipt_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// waitLimit bounds every wait for another connection.
const waitLimit = 90 * time.Second

// testBundle is a database with a table of persons, and an operation with generation 1
// registered.
type testBundle struct {
	*outboxtest.Database
	hold outbox.Hold
}

func setup(t testing.TB) *testBundle {
	t.Helper()
	b := &testBundle{Database: outboxtest.NewDatabase(t)}
	if _, err := b.Pool.Exec(t.Context(), `CREATE TABLE person (id text, operation uuid)`); err != nil {
		t.Fatalf("create persons: %v", err)
	}
	return b.another(t)
}

// another is another operation in the same database.
func (b *testBundle) another(t testing.TB) *testBundle {
	t.Helper()
	a := &testBundle{Database: b.Database, hold: outbox.Hold{Operation: uuid.New(), Generation: 1}}
	if _, err := hold.Register(t.Context(), a.Pool, a.hold, "test"); err != nil {
		t.Fatalf("register: %v", err)
	}
	return a
}

// step is a call of the step "person" that asks for body.
func (b *testBundle) step(t testing.TB, body string) receipt.Step {
	t.Helper()
	key, err := receipt.Named("person")
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(body))
	return receipt.Step{Operation: b.hold.Operation, Generation: b.hold.Generation,
		Key: key, EntityKind: "person", BodyDigest: digest[:]}
}

// apply makes a person with that id and stages one held event about it.
func (b *testBundle) apply(ctx context.Context, id string) func(pgx.Tx) (string, error) {
	return func(tx pgx.Tx) (string, error) {
		if _, err := tx.Exec(ctx, `INSERT INTO person VALUES ($1, $2)`, id, b.hold.Operation); err != nil {
			return "", err
		}
		e := event.New()
		e.SetSource("/test")
		e.SetType("person.created")
		e.SetSubject(id)
		_, err := outbox.PublishTxHeld(ctx, tx, b.hold, e)
		return id, err
	}
}

// never fails the test when it is called.
func never(t testing.TB) func(pgx.Tx) (string, error) {
	return func(pgx.Tx) (string, error) {
		t.Error("the step was applied")
		return "", errors.New("applied")
	}
}

// do runs the step in a transaction of its own.
func (b *testBundle) do(t testing.TB, step receipt.Step, apply func(pgx.Tx) (string, error)) (receipt.Result, error) {
	t.Helper()
	var result receipt.Result
	err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) (err error) {
		result, err = receipt.Do(t.Context(), tx, step, apply)
		return err
	})
	return result, err
}

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

// traces are what steps of the operation left.
type traces struct {
	Receipts []string // stable ids
	Persons  []string
	Held     []string // subjects of the events that wait
	Sent     []string // subjects of the events in the log
}

func (b *testBundle) traces(t testing.TB) traces {
	t.Helper()
	list := func(sql string) []string { return outboxtest.All[string](t, b.Pool, sql, b.hold.Operation) }
	return traces{
		Receipts: list(`SELECT coalesce(stable_id, 'none') FROM outbox.hold_receipt WHERE operation_id = $1 ORDER BY step_key`),
		Persons:  list(`SELECT id FROM person WHERE operation = $1 ORDER BY id`),
		Held:     list(`SELECT subject FROM outbox.event_outbox WHERE hold_operation_id = $1 AND tx IS NULL ORDER BY seq`),
		Sent:     list(`SELECT subject FROM outbox.event_outbox WHERE hold_operation_id = $1 AND tx IS NOT NULL ORDER BY seq`),
	}
}

// once is what one applied step leaves, and nothing is what none does.
func once(id string) traces {
	return traces{Receipts: []string{id}, Persons: []string{id}, Held: []string{id}, Sent: []string{}}
}

var nothing = traces{Receipts: []string{}, Persons: []string{}, Held: []string{}, Sent: []string{}}

func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// waitBlocked returns when the connection waits for a lock of someone else.
func (b *testBundle) waitBlocked(t testing.TB, pid uint32) {
	t.Helper()
	outboxtest.Eventually(t, waitLimit, fmt.Sprintf("backend %d waits for a lock", pid), func() bool {
		return outboxtest.One[bool](t, b.Pool, `SELECT cardinality(pg_blocking_pids($1)) > 0`, pid)
	})
}
