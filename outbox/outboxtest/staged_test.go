package outboxtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const (
	insertFull = `insert into outbox.event_outbox (event_id, source, type, subject, time, datacontenttype, dataschema,
		partition_key, extensions, data) values ('full', '/shop', 'order.placed', 'order/7', '2026-11-29T11:30:00.123456+01:00',
		'application/json', 'https://example.com/order', 'order-7', '{"tenant":"a","n":1}', $1)`
	insertHeld = `insert into outbox.event_outbox (event_id, source, type, data, hold_operation_id, hold_generation, tx)
		values ($1, '/shop', 'order.paid', '', '0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10', 2,
		case when $2 then null else pg_current_xact_id() end)`
)

func TestStaged(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if got := outboxtest.Staged(t, db.Pool); len(got) > 0 {
		t.Errorf("a new database has events: %v", got)
	}
	payload := []byte{0, 0xff, '{', '\n'}
	execSQL(t, db, insertFull, payload)
	execSQL(t, db, insertHeld, "held", true)
	execSQL(t, db, insertHeld, "released", false)
	execSQL(t, db, "insert into outbox.event_outbox (event_id, source, type) values ('least', '/shop', 'order.seen')")

	const operation = "0190b0c4-7d1e-7c1e-8a44-5a3c2c1f9d10"
	held := outbox.Record{ID: "held", Source: "/shop", Type: "order.paid", Data: []byte{}}
	released := held
	released.ID = "released"
	want := []outboxtest.StagedEvent{
		{Record: outbox.Record{
			ID: "full", Source: "/shop", Type: "order.placed", Subject: "order/7",
			Time:            time.Date(2026, 11, 29, 10, 30, 0, 123456000, time.UTC),
			DataContentType: "application/json", DataSchema: "https://example.com/order", PartitionKey: "order-7",
			Extensions: []byte(`{"n": 1, "tenant": "a"}`), Data: payload,
		}},
		{Record: held, Held: true, Operation: operation, Generation: 2},
		{Record: released, Operation: operation, Generation: 2},
		{Record: outbox.Record{ID: "least", Source: "/shop", Type: "order.seen"}},
	}
	if diff := cmp.Diff(want, outboxtest.Staged(t, db.Pool)); diff != "" {
		t.Errorf("staged events (-want +got):\n%s", diff)
	}
}

func TestStagedInTransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertOne); err != nil {
		t.Fatal(err)
	}
	if inside, outside := len(outboxtest.Staged(t, tx)), len(outboxtest.Staged(t, db.Pool)); inside != 1 || outside != 0 {
		t.Errorf("%d events inside and %d outside of the transaction, want 1 and 0", inside, outside)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
