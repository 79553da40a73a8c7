package main

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func testRig(t *testing.T) (*rig, *pgxpool.Pool) {
	t.Helper()
	r, err := newRig(t.Context(), settings{events: 1000, runs: 1, size: 512})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	pool, drop, err := r.freshDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(drop)
	if err := r.freshStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, pool
}

// TestLoad makes the last events of a large backlog, and looks at what an event weighs.
func TestLoad(t *testing.T) {
	t.Parallel()
	r, pool := testRig(t)
	if err := r.loadRange(t.Context(), pool, 999_001, 1_000_000); err != nil {
		t.Fatal(err)
	}
	var n, keys, least, most int
	err := pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT partition_key), min(length(data)), max(length(data))
		FROM outbox.event_outbox`).Scan(&n, &keys, &least, &most)
	if err != nil {
		t.Fatal(err)
	}
	if n != 1000 || keys != 1000 || least != 512 || most != 512 {
		t.Errorf("%d events with %d keys of %d to %d bytes, want 1000, 1000, 512", n, keys, least, most)
	}
}

// TestRetainedAndHeldStay drains a database that was filled: nothing but the new events goes out.
func TestRetainedAndHeldStay(t *testing.T) {
	t.Parallel()
	r, pool := testRig(t)
	ctx := t.Context()
	if err := r.fatten(ctx, pool, 3000, 500); err != nil {
		t.Fatal(err)
	}
	if err := r.load(ctx, pool, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := r.drain(ctx, pool, 1000); err != nil {
		t.Fatal(err)
	}
	stream, err := r.js.Stream(ctx, r.stream)
	if err != nil {
		t.Fatal(err)
	}
	var rows, held int
	if err := pool.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE tx IS NULL) FROM outbox.event_outbox").Scan(&rows, &held); err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 1000 || rows != 4500 || held != 500 {
		t.Errorf("%d messages, %d rows, %d of them held; want 1000, 4500, 500", n, rows, held)
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	got := together([]drainedBy{
		{from: at(2), to: at(6), events: 100}, {from: at(1), to: at(5), events: 200}, {from: at(3), to: at(11), events: 300},
	})
	if rate := got.rate(); rate != 60 {
		t.Errorf("%v events/s, want 60: 600 events from second 1 to second 11", rate)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var values []float64
	for i := range 100 {
		values = append(values, float64(100-i))
	}
	if p50, p99 := quantile(values, 0.5), quantile(values, 0.99); p50 != 51 || p99 != 100 {
		t.Errorf("median %v and 99th percentile %v of 1 to 100, want 51 and 100", p50, p99)
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]int{"": len(measurements()), "scale,drain": 2, "latency": 1} {
		if got, err := choose(only); err != nil || len(got) != want {
			t.Errorf("choose %q: %d measurements, %v; want %d", only, len(got), err, want)
		}
	}
	if _, err := choose("latency,laetncy"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
