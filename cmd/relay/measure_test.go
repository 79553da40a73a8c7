package main

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestWhatIsMeasuredInTheDatabase makes each number be another than it is when nothing happens.
func TestWhatIsMeasuredInTheDatabase(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t, "RELAY_REFUSED_RETRIES=0")
	stage(t, a.db, 100)
	stored(t, a.js, 100)
	a.awaitMetric("the window of duplicates is known", exactly(0), "holdfast_relay_dedup_window_used_ratio")
	a.awaitMetric("retained rows have a size", above(8192), "holdfast_relay_retained_size_bytes")
	a.awaitMetric("and an age", above(0), "holdfast_relay_retained_oldest_age_seconds")
	a.exec("analyze outbox.event_outbox")
	a.awaitMetric("and a number", exactly(100), "holdfast_relay_retained")

	const hold = `insert into outbox.event_outbox (tx, hold_operation_id, hold_generation, event_id, source, type)
	              select null, gen_random_uuid(), 1, 'held-' || n, '/orders', 'order.held' from generate_series(1, 3) n`
	a.exec(hold)
	a.awaitMetric("held events", exactly(3), "holdfast_relay_held")
	a.awaitMetric("and their age", above(0), "holdfast_relay_oldest_held_age_seconds")

	stream, err := a.js.Stream(t.Context(), "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	limited := stream.CachedInfo().Config
	limited.MaxMsgSize = 2000
	if _, err := a.js.UpdateStream(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	a.awaitMetric("no dead letter", exactly(0), "holdfast_relay_dead_letters")
	a.exec("select outbox.publish_text('/orders', 'order.large', repeat('x', 4000), partitionkey => 'large')")
	a.awaitMetric("a dead letter", exactly(1), "holdfast_relay_dead_letters")
	a.awaitMetric("counted when it was given up", exactly(1), "holdfast_relay_retries_total", `outcome="dead_lettered"`)
	a.awaitMetric("after its refusal", above(0), "holdfast_relay_publish_outcomes_total", `class="refused"`)
	a.awaitMetric("it waited", exactly(1), "holdfast_relay_events_waiting_total", `outcome="refused"`)

	// Rows that nobody may claim: one due for a long time, in the name of the group.
	a.exec(`insert into outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, next_visible_at, lease_owner, lease_token, lease_until)
	        values ('default', 0, -7, 'gone', 'parked', clock_timestamp() - interval '1 hour', 'somebody', gen_random_uuid(), clock_timestamp() + interval '1 hour')`)
	a.awaitMetric("a row waits", exactly(1), "holdfast_relay_retry_waiting")
	a.awaitMetric("since it was last touched", above(0), "holdfast_relay_retry_oldest_age_seconds")
	a.exec("delete from outbox.outbox_retry where seq = -7")
	a.awaitMetric("no row waits", exactly(0), "holdfast_relay_retry_waiting")
	a.awaitMetric("nothing is overdue", exactly(0), "holdfast_relay_retry_overdue_seconds")
}

// TestPinnedHorizonIsSeen holds a snapshot open while other transactions come and go.
func TestPinnedHorizonIsSeen(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	tx, err := a.db.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select 1 from outbox.outbox_lane"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		stage(t, a.db, 1)
	}
	a.awaitMetric("the horizon has an age", above(19), "holdfast_relay_database_xmin_age")
	a.awaitMetric("it stands still", above(1), "holdfast_relay_database_xmin_pinned_seconds")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Any other session of the cluster's database may hold a newer one: it moves on.
	a.awaitMetric("it moves on", func(v float64) bool { return v < 1 }, "holdfast_relay_database_xmin_pinned_seconds")
}

// TestLaneWithoutOwnerIsSeen makes one more lane whose owner is gone, and holds its row locked, so that
// every relay passes it by.
func TestLaneWithoutOwnerIsSeen(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	a.awaitMetric("every lane has an owner", exactly(0), "holdfast_relay_lanes_unowned")
	tx, err := a.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.exec(`insert into outbox.outbox_lane (relay_group, lane, lease_owner, lease_token, lease_until)
	        values ('default', 200, 'gone', gen_random_uuid(), clock_timestamp() + interval '5 s')`)
	var owner string
	if err := tx.QueryRow(t.Context(), "select lease_owner from outbox.outbox_lane where lane = 200 for update").Scan(&owner); err != nil || owner != "gone" {
		t.Fatalf("the owner is %q: %v", owner, err)
	}
	a.awaitMetric("a lane has none", exactly(1), "holdfast_relay_lanes_unowned")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.awaitMetric("every lane has an owner again", exactly(0), "holdfast_relay_lanes_unowned")
	a.awaitMetric("the relay has it", exactly(17), "holdfast_relay_lanes")
}

// TestMeasuringThatFailsLeavesTheNumbersOut and the relay alone: a number that stands still looks
// like a system that is well. The relay has the rights of its role and no more, which are
// enough for measuring until one is taken away that only measuring needs.
func TestMeasuringThatFailsLeavesTheNumbersOut(t *testing.T) {
	t.Parallel()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	login, err := loginAs(t.Context(), db, canonical.Drainer)
	if err != nil {
		t.Fatal(err)
	}
	environ := append([]string{"RELAY_DATABASE_URL=" + login, "RELAY_NATS_URL=" + broker.URL()}, quickly...)
	a := alarmed{process: startRelay(t, os.Args[0], environ...), db: db, js: js}
	a.awaitMetric("the database is measured", exactly(0), "holdfast_relay_backlog")
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	stage(t, db, 1)
	stage(t, db, 1)
	a.awaitMetric("the transaction of another role is seen", above(1), "holdfast_relay_database_xmin_age")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.exec("revoke select on pg_replication_slots from public")
	a.awaitMetric("measuring fails", above(0), "holdfast_relay_measure_duration_seconds_count", `outcome="failed"`)
	stage(t, a.db, 60)
	stored(t, a.js, 62)
	eventually(t, "the numbers are gone", func() bool {
		_, found := a.scrape().sum("holdfast_relay_backlog")
		return !found
	})
	if n := a.count("measure the database"); n != 1 {
		t.Errorf("%d lines about it, want 1", n)
	}
	a.exec("grant select on pg_replication_slots to public")
	a.awaitMetric("the numbers are back", exactly(0), "holdfast_relay_backlog")
}
