package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestRequeuedDeadLetterReachesTheStream goes the whole way: an event that the broker refuses becomes a dead
// letter, a person raises the limit and runs relay dead-letter requeue, and the relay that has been
// running all the time publishes it.
func TestRequeuedDeadLetterReachesTheStream(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	limit := func(bytes int32) {
		t.Helper()
		if _, err := js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}, MaxMsgSize: bytes}); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL()}
	startRelay(t, os.Args[0], append(environ, "RELAY_REFUSED_RETRIES=1", "RELAY_REFUSED_PAUSE_MIN=10ms", "RELAY_REFUSED_PAUSE_MAX=20ms")...)
	stage(t, db, 10)
	stored(t, js, 10)
	limit(4096)
	large := func(n int) {
		t.Helper()
		const sql = "SELECT outbox.publish_text('/orders', 'order.large', repeat('x', 6000), partitionkey => 'large-' || n) FROM generate_series(1, $1::int) AS n"
		if _, err := db.Pool.Exec(t.Context(), sql, n); err != nil {
			t.Fatal(err)
		}
	}
	large(3)
	eventually(t, "they are dead letters", func() bool { return query(t, db, "SELECT count(*) FROM outbox.outbox_dead_letter") == 3 })

	requeue := func() {
		t.Helper()
		c := exec.CommandContext(t.Context(), os.Args[0], "dead-letter", "requeue", "--type", "order.large", "--reason", "limit raised", "--apply", "--yes")
		c.Env = append([]string{mainEnv + "=1"}, environ...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("requeue: %v\n%s", err, out)
		}
	}
	requeue() // too early: it is refused again, and is a dead letter again
	eventually(t, "they are dead letters for the second time", func() bool {
		return query(t, db, "SELECT count(*) FROM outbox.outbox_dead_letter WHERE requeue_epoch = 1") == 3
	})
	limit(-1)
	requeue()
	stored(t, js, 13)
	eventually(t, "nothing waits", func() bool {
		return query(t, db, "SELECT (SELECT count(*) FROM outbox.outbox_retry) + (SELECT count(*) FROM outbox.outbox_dead_letter) + (SELECT count(*) FROM outbox.outbox_requeued)") == 0
	})
	if n := query(t, db, "SELECT count(*) FROM outbox.outbox_dead_letter_history WHERE action = 'requeued'"); n != 6 {
		t.Errorf("the history has %d requeues, want 6", n)
	}
}
