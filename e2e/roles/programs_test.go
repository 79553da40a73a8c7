package roles_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestProducer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	held := outbox.Hold{Operation: uuid.New(), Generation: 1}
	b.superuser("SELECT outbox.hold_register($1, 1, 'me')", held.Operation.String())
	a := b.as(canonical.Producer)
	with := "'" + held.Operation.String() + "', 1, "
	a.can(
		"SELECT outbox.publish('/s', 't', 'data')", "SELECT outbox.publish_text('/s', 't', 'data')", "SELECT outbox.publish_base64('/s', 't', 'ZGF0YQ==')",
		"SELECT outbox.publish_events('{1}', '{/s}', '{t}', NULL, NULL, NULL, NULL, NULL, NULL, NULL)", "SELECT outbox.uuid_v7()",
		"SELECT outbox.publish_held("+with+"'/s', 't', 'data')", "SELECT outbox.publish_held_text("+with+"'/s', 't', 'data')",
		"SELECT outbox.publish_held_base64("+with+"'/s', 't', 'ZGF0YQ==')",
		"SELECT outbox.publish_events_held("+with+"'{1}', '{/s}', '{t}', NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"SELECT * FROM outbox.receipt_begin("+with+"'person', 'person', repeat('a', 64)); SELECT outbox.receipt_complete("+with+"'person', 'p-1')",
		"SELECT * FROM outbox.hold_state("+with[:len(with)-2]+")",
		"INSERT INTO outbox.event_outbox (event_id, source, type, data) VALUES ('1', '/s', 't', 'data')",
	)
	a.cannot(nobody...)
	a.cannot(payloads...)
	a.cannot(register, release, cancel, requeue, discard,
		"SELECT seq FROM outbox.event_outbox", "SELECT * FROM outbox.event_outbox_info", "SELECT * FROM outbox.outbox_lane",
		"INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('1', '/s', 't') RETURNING data",
		"INSERT INTO outbox.event_outbox (event_id, source, type, hold_operation_id, hold_generation) VALUES ('1', '/s', 't', gen_random_uuid(), 1)")

	ctx := t.Context()
	pool := b.pool(b.login(canonical.Producer))
	if _, err := outbox.Verify(ctx, pool, "", canonical.Hold); err != nil {
		t.Errorf("verify: %v", err)
	}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := outbox.PublishTx(ctx, tx, newEvent("1")); err != nil {
			return err
		}
		_, err := outbox.PublishTxHeld(ctx, tx, held, newEvent("2"))
		return err
	})
	if err != nil {
		t.Errorf("publish: %v", err)
	}
}

// TestRelay: a whole relay drains with the rights of its role.
func TestRelay(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	a := b.as(canonical.Drainer)
	a.cannot(nobody[:5]...)
	a.cannot(nobody[6:]...)
	a.cannot(publish, register, release, cancel, state, "SELECT * FROM outbox.hold_generation",
		"INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('1', '/s', 't')", "DELETE FROM outbox.outbox_lane", "TRUNCATE outbox.outbox_batch")

	const events = 500
	ctx := t.Context()
	err := pgx.BeginFunc(ctx, b.pool(b.login(canonical.Producer)), func(tx pgx.Tx) error {
		batch := make([]event.Event, events)
		for i := range batch {
			batch[i] = newEvent(fmt.Sprint(i))
		}
		_, err := outbox.PublishTx(ctx, tx, batch...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	js := runRelay(t, b)
	wait(t, func() (uint64, error) {
		stream, err := js.Stream(ctx, "EVENTS")
		if err != nil {
			return 0, err
		}
		info, err := stream.Info(ctx)
		if err != nil {
			return 0, err
		}
		return info.State.Msgs, nil
	}, events)
	// The tables of waiting and dead events, with the triggers that keep them apart.
	a.can(`INSERT INTO outbox.outbox_retry (seq, lane, relay_group, event_id, work_kind) VALUES (1, 1, 'default', 'e', 'parked');
		SELECT * FROM outbox.outbox_retry FOR UPDATE SKIP LOCKED; UPDATE outbox.outbox_retry SET row_version = 1; DELETE FROM outbox.outbox_retry;
		INSERT INTO outbox.outbox_dead_letter (seq, staged_at, attempts, lane, relay_group, reason_code, reason_detail_sha256, event_id, source, type, extensions)
		VALUES (1, now(), 3, 1, 'default', 'rejected', sha256('why'), 'e', '/s', 't', '{}');
		INSERT INTO outbox.outbox_dead_letter_history (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
		VALUES (1, 1, 3, 0, 1, 'default', 'e', 'dead-lettered', 'relay', 'rejected');` + requeue + `;DELETE FROM outbox.outbox_requeued`)
}

// runRelay runs a relay as its role until the test ends.
func runRelay(t *testing.T, b *bundle) jetstream.JetStream {
	t.Helper()
	server := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, server.URL(), "EVENTS", "events.>")
	config, err := relay.PoolConfig(b.url(b.login(canonical.Drainer)), 4)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(server.URL(), relay.NATSOptions("roles")...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(pool, nc, relay.Config{Stream: "EVENTS", PollMax: 10 * time.Millisecond, Workers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("relay: %v", err)
		}
		nc.Close()
		pool.Close()
	})
	return js
}

// wait polls until a count is reached.
func wait(t *testing.T, count func() (uint64, error), want uint64) {
	t.Helper()
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		have, err := count()
		if err != nil {
			t.Fatal(err)
		}
		if have == want {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d of %d after 30 s", have, want)
		case <-tick.C:
		}
	}
}

func newEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/s")
	e.SetType("t")
	return e
}
