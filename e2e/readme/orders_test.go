package readme

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) { outboxtest.Main(m) }

// TestReadme runs what the README shows.
func TestReadme(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := outboxtest.NewDatabase(t)
	if _, err := db.Pool.Exec(ctx, "CREATE TABLE orders (id text PRIMARY KEY, total int NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	if err := placeOrder(ctx, db.Pool, "A-1", 40); err != nil {
		t.Fatal(err)
	}
	if err := placeOrder(ctx, db.Pool, "A-1", 40); err == nil {
		t.Fatal("the same order twice should fail, and its event with it")
	}
	held := event.New()
	held.SetSource("/orders")
	held.SetType("order.placed")
	released := outbox.Hold{Operation: uuid.New(), Generation: 1}
	cancelled := outbox.Hold{Operation: uuid.New(), Generation: 1}
	for id, h := range map[string]outbox.Hold{"B-1": released, "B-2": cancelled} {
		if err := placeHeld(ctx, db.Pool, h, id, held); err != nil {
			t.Fatal(err)
		}
		if err := decide(ctx, db.Pool, h, h == released); err != nil {
			t.Fatal(err)
		}
	}
	staged := outboxtest.Staged(t, db.Pool)
	if len(staged) != 2 {
		t.Fatalf("%d events are staged, want the order's and the released one", len(staged))
	}
	for _, e := range staged {
		if e.Held {
			t.Errorf("event %s is held", e.ID)
		}
	}
}
