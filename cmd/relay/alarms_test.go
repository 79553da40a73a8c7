package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// quickly are settings with which an alarm need not be waited for.
var quickly = []string{"RELAY_MEASURE_EVERY=100ms", "RELAY_UNREADY_AFTER=1s", "RELAY_RETRY_MAX=100ms", "RELAY_LEASE=4s", "RELAY_ACK_TIMEOUT=1s"}

// alarmed is a relay with the servers that it works with.
type alarmed struct {
	*process
	db      *outboxtest.Database
	js      jetstream.JetStream
	environ []string
}

func startAlarmed(t *testing.T, more ...string) alarmed {
	t.Helper()
	db, broker := outboxtest.NewDatabase(t), outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, broker.URL(), "ORDERS", "events.>")
	environ := append([]string{"RELAY_DATABASE_URL=" + db.URL, "RELAY_NATS_URL=" + broker.URL()}, append(more, quickly...)...)
	return alarmed{process: startRelay(t, os.Args[0], environ...), db: db, js: js, environ: environ}
}

func (a alarmed) exec(sql string, args ...any) {
	a.t.Helper()
	outboxtest.Exec(a.t, a.db.Pool, sql, args...)
}

// TestMissingStreamIsSeenAndCostsNoAttempts: what nobody publishes grows old in a metric, readiness
// fails, no attempt is counted against an event, and nothing is given up.
func TestMissingStreamIsSeenAndCostsNoAttempts(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	a.awaitReady(200)
	a.awaitMetric("the stream is there", exactly(0), "holdfast_relay_stream_missing")
	if err := a.js.DeleteStream(t.Context(), "ORDERS"); err != nil {
		t.Fatal(err)
	}
	stage(t, a.db, 50)
	a.awaitMetric("the stream is missing", exactly(1), "holdfast_relay_stream_missing")
	a.awaitMetric("the backlog is counted", exactly(50), "holdfast_relay_backlog")
	a.awaitMetric("the backlog grows old", above(2), "holdfast_relay_oldest_unpublished_age_seconds")
	a.awaitMetric("the relay is not ready", exactly(0), "holdfast_relay_ready")
	a.awaitMetric("the broker cannot be used", exactly(0), "holdfast_relay_broker_up")
	a.awaitMetric("attempts say why", above(0), "holdfast_relay_attempts_total", `class="unavailable"`)
	a.awaitReady(503)
	if n := query(t, a.db, "select count(*) from outbox.outbox_retry") + query(t, a.db, "select count(*) from outbox.outbox_dead_letter"); n != 0 {
		t.Errorf("%d events are counted as refused", n)
	}
	if n := a.count("waiting for the broker"); n < 1 || n > 5 {
		t.Errorf("%d lines say that the relay waits", n)
	}
	if _, err := a.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	stored(t, a.js, 50)
	a.awaitMetric("nothing waits", exactly(0), "holdfast_relay_backlog")
	a.awaitMetric("nothing is old", exactly(0), "holdfast_relay_oldest_unpublished_age_seconds")
	a.awaitMetric("the stream is back", exactly(0), "holdfast_relay_stream_missing")
	a.awaitMetric("the relay is ready", exactly(1), "holdfast_relay_ready")
}

// TestSequenceThatGoesBackIsAnAlarm: a stream that was restored empty takes events as before, and
// what it lost has to be noticed by somebody.
func TestSequenceThatGoesBackIsAnAlarm(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	stage(t, a.db, 30)
	stored(t, a.js, 30)
	a.awaitMetric("no alarm yet", exactly(0), "holdfast_relay_stream_regressions_total")
	if err := a.js.DeleteStream(t.Context(), "ORDERS"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"events.>"}}); err != nil {
		t.Fatal(err)
	}
	a.awaitMetric("the alarm", exactly(1), "holdfast_relay_stream_regressions_total")
	stage(t, a.db, 5)
	stored(t, a.js, 5)
	a.awaitMetric("one alarm", exactly(1), "holdfast_relay_stream_regressions_total")
}

// TestLostLeaseIsCounted freezes a relay until another one has its lanes.
func TestLostLeaseIsCounted(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	a.awaitMetric("it has all lanes", exactly(16), "holdfast_relay_lanes")
	a.awaitMetric("no lane is lost", exactly(0), "holdfast_relay_lanes_lost_total")
	a.signal(syscall.SIGSTOP)
	other := startRelay(t, os.Args[0], a.environ...)
	other.awaitMetric("the other has all lanes", exactly(16), "holdfast_relay_lanes")
	a.signal(syscall.SIGCONT)
	a.awaitMetric("every lane is lost", exactly(16), "holdfast_relay_lanes_lost_total")
	a.awaitMetric("as changes, too", exactly(16), "holdfast_relay_lane_changes_total", `outcome="lost"`)
	stage(t, a.db, 40)
	stored(t, a.js, 40)
	a.signal(syscall.SIGTERM)
	a.wait()
	other.awaitMetric("the other has all lanes again", exactly(16), "holdfast_relay_lanes")
}

// TestSettleThatFailsIsLoud: the events are in the stream and the cursor does not move. They are
// settled again and not published again, and a counter says so all the time.
func TestSettleThatFailsIsLoud(t *testing.T) {
	t.Parallel()
	a := startAlarmed(t)
	a.awaitMetric("no failure yet", exactly(0), "holdfast_relay_settle_failures_total")
	a.awaitMetric("it has checked the schema and has lanes", exactly(16), "holdfast_relay_lanes")
	a.exec(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no mark is possible'; end $$`)
	a.exec(`create trigger refuse before insert on outbox.outbox_batch for each row execute function refuse()`)
	stage(t, a.db, 25)
	stored(t, a.js, 25)
	a.awaitMetric("settles fail again and again", above(10), "holdfast_relay_settle_failures_total")
	a.awaitMetric("the database is at fault", exactly(0), "holdfast_relay_database_up")
	a.exec(`drop trigger refuse on outbox.outbox_batch`)
	a.awaitMetric("the batches are settled", exactly(0), "holdfast_relay_backlog")
	a.awaitMetric("as many as lanes had events", above(0), "holdfast_relay_batches_total")
	stored(t, a.js, 25)
	if published, _ := a.scrape().sum("holdfast_relay_events_published_total"); published != 25 {
		t.Errorf("%v events are published, want 25: a settle that fails is repeated by itself", published)
	}
	a.awaitMetric("settles take a time", above(0), "holdfast_relay_settle_duration_seconds_count")
	a.awaitMetric("reads take a time", above(0), "holdfast_relay_read_duration_seconds_count")
}
