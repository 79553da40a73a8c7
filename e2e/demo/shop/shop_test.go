package shop_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
	"github.com/holdfast-dev/holdfast/e2e/demo/shop"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// open returns a connection to a database of its own with a shop in it.
func open(t *testing.T) *pgxpool.Conn {
	t.Helper()
	conn, err := openPool(t).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn
}

func openPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := shop.Install(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return db.Pool
}

func newOrder() shop.Order {
	return shop.Order{ID: uuid.New(), Customer: "Žofie <z@example.com>", TotalCents: 1250}
}

// line is an entry of the ledger without what is random.
type line struct {
	Source, Type string
	Version      int
	Fate         check.Fate
}

func ledger(t *testing.T, db *pgxpool.Pool) map[line]int {
	t.Helper()
	entries, err := shop.Ledger(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[line]int{}
	for _, e := range entries {
		lines[line{e.Source, e.Type, e.Version, e.Fate}]++
	}
	return lines
}

// TestRowsAndEventsAreOneTransaction: the ledger and the outbox name the same events, and
// agree about what was rolled back.
func TestRowsAndEventsAreOneTransaction(t *testing.T) {
	t.Parallel()
	db, o := openPool(t), newOrder()
	p := shop.Payment{ID: uuid.New(), Order: o.ID, AmountCents: o.TotalCents}
	steps := []func(tx pgx.Tx) error{
		func(tx pgx.Tx) error { return shop.PlaceOrder(t.Context(), tx, nil, o) },
		func(tx pgx.Tx) error { return shop.AuthorizePayment(t.Context(), tx, nil, p) },
		func(tx pgx.Tx) error { return shop.CapturePayment(t.Context(), tx, nil, p.ID) },
		func(tx pgx.Tx) error { return shop.AdvanceOrder(t.Context(), tx, nil, o.ID) },
		func(tx pgx.Tx) error { return shop.AdvanceOrder(t.Context(), tx, nil, o.ID) },
	}
	undone := errors.New("undone")
	for _, step := range steps {
		err := pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error { return errors.Join(step(tx), undone) })
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if err := pgx.BeginFunc(t.Context(), db, step); err != nil {
			t.Fatal(err)
		}
	}
	want := map[line]int{
		{"/orders", "order.placed", 1, check.Free}: 1, {"/orders", "order.paid", 2, check.Free}: 1, {"/orders", "order.shipped", 3, check.Free}: 1,
		{"/payments", "payment.authorized", 1, check.Free}: 1, {"/payments", "payment.captured", 2, check.Free}: 1,
	}
	if diff := cmp.Diff(want, ledger(t, db)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	entries, err := shop.Ledger(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, e := range entries {
		keys[e.ID] = e.Key
	}
	staged := map[string]string{}
	for _, e := range outboxtest.Staged(t, db) {
		staged[e.ID] = e.PartitionKey
	}
	if diff := cmp.Diff(staged, keys); diff != "" {
		t.Errorf("ids and keys (-outbox +ledger):\n%s", diff)
	}
}

// TestLedgerKnowsWhatWasDecided takes one checkout to each of its ends.
func TestLedgerKnowsWhatWasDecided(t *testing.T) {
	t.Parallel()
	db := openPool(t)
	ends := map[check.Fate]func(op *shop.Operation) error{
		check.Held:     func(*shop.Operation) error { return nil },
		check.Released: func(op *shop.Operation) error { _, err := op.Complete(t.Context()); return err },
		check.Dropped:  func(op *shop.Operation) error { _, err := op.CallOff(t.Context()); return err },
	}
	want := map[line]int{}
	for fate, end := range ends {
		o := newOrder()
		op, err := shop.Begin(t.Context(), db, outbox.Hold{Operation: uuid.New(), Generation: 1}, o)
		if err != nil {
			t.Fatal(err)
		}
		step := shop.Step{Name: "place", Kind: "order", Entity: o.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error {
			return shop.PlaceOrder(t.Context(), tx, held, o)
		}}
		for _, want := range []receipt.Outcome{receipt.Applied, receipt.Replayed} {
			if got, err := op.Do(t.Context(), step); got != want || err != nil {
				t.Fatalf("step was %q, want %q: %v", got, want, err)
			}
		}
		if err := end(op); err != nil {
			t.Fatal(err)
		}
		want[line{"/orders", "order.placed", 1, fate}] = 1
	}
	if diff := cmp.Diff(want, ledger(t, db)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}
