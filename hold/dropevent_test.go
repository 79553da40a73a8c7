package hold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestDroppedEventIsGoneAndAuditedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "a", "b", "c", "b")
	for _, want := range []int64{2, 0} { // both copies, and then it can be repeated
		n, err := hold.DropEvent(t.Context(), b.Pool, b.hold, hold.EventName{ID: "b"}, "operator", "wrong customer")
		if err != nil || n != want {
			t.Fatalf("drop gives %d and %v, want %d", n, err, want)
		}
	}
	want := []string{"drop-event by operator because wrong customer: b, 2"}
	got := column[string](t, b.Pool, `SELECT action || ' by ' || actor || ' because ' || reason || ': ' || item || ', ' || events
		FROM outbox.hold_audit WHERE operation_id = $1 AND action <> 'register'`, b.hold.Operation)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "c"}, b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestDropOfAnEventNeedsAReasonAndOneMeaning(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	drop := func(name hold.EventName, reason string) error {
		_, err := hold.DropEvent(t.Context(), b.Pool, b.hold, name, "operator", reason)
		return err
	}
	wantArgument(t, drop(hold.EventName{ID: "a"}, ""), "reason")
	wantArgument(t, drop(hold.EventName{}, "why"), "event_id")
	b.stage(t, b.Pool, b.hold, "a")
	b.exec(t, `SELECT outbox.publish_held($1, 1, '/other', 'thing.made', id => 'a')`, b.hold.Operation.String())
	wantArgument(t, drop(hold.EventName{ID: "a"}, "why"), "source")
	if err := drop(hold.EventName{ID: "a", Source: "/other"}, "why"); err != nil {
		t.Fatal(err)
	}
	if n := b.held(t); n != 1 {
		t.Errorf("%d events are held, want the one of the other source", n)
	}
}

func TestReleasedEventCannotBeDropped(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "a", "b")
	// The release is open: the drop waits for it, and is refused.
	release := b.begin(t, pgx.TxOptions{})
	if _, err := hold.Release(t.Context(), release, b.hold, "test"); err != nil {
		t.Fatal(err)
	}
	drop := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) error {
		_, err := hold.DropEvent(t.Context(), tx, b.hold, hold.EventName{ID: "a"}, "operator", "why")
		return err
	})
	waitBlocked(t, b.Pool, drop.pid)
	if err := release.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, drop.wait(t), outbox.ErrGenerationReleased, b.hold, "released")
	if diff := cmp.Diff([]string{"a", "b"}, b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestDropOfAnEventSeesTheWriterItWaitedFor(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	writer := b.begin(t, pgx.TxOptions{})
	b.stage(t, writer, b.hold, "a")
	var n int64
	drop := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
		n, err = hold.DropEvent(t.Context(), tx, b.hold, hold.EventName{ID: "a"}, "operator", "why")
		return err
	})
	waitBlocked(t, b.Pool, drop.pid)
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := drop.wait(t); err != nil || n != 1 || b.held(t) != 0 {
		t.Errorf("drop gives %d and %v, and %d events are held; want 1, none, 0", n, err, b.held(t))
	}
}
