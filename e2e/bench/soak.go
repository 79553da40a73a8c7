package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// soakCycle is how many events go into a slot before the next one is written to.
const soakCycle = 100_000

// soak writes many events, drains them with a relay, and empties slots as they would be in weeks, with
// autovacuum on as it is. It prints, once in each tenth of the way and at the end, the size of the log,
// its dead rows, and how long a look for new events and a look for slots take.
//
// Days are made of cycles: each one writes into the next slot of a made-up clock, and what was drained
// may be emptied at once, except the slot that the real clock is in.
func soak(ctx context.Context, r *rig, events int) error {
	if err := r.freshStream(ctx); err != nil {
		return err
	}
	pool, done, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer done()
	relayPool, err := r.relayPool(ctx, pool)
	if err != nil {
		return err
	}
	defer relayPool.Close()
	re, err := relay.New(relayPool, r.nc, r.relayConfig())
	if err != nil {
		return err
	}
	keeper, err := retention.New(pool, retention.Config{Owner: "bench", Keep: time.Microsecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- re.Run(running) }()
	err = soakCycles(ctx, r, pool, keeper, events)
	stop()
	if runErr := <-ended; err == nil {
		err = runErr
	}
	return err
}

func soakCycles(ctx context.Context, r *rig, pool *pgxpool.Pool, keeper *retention.Keeper, events int) error {
	step := max(1, events/soakCycle/10)
	for cycle, written := 0, 0; written < events; cycle++ {
		n := min(soakCycle, events-written)
		var slot int
		if err := pool.QueryRow(ctx, "SELECT (floor(extract(epoch from clock_timestamp()) / 86400)::int + 1 + $1::int % 3) % 4", cycle).Scan(&slot); err != nil {
			return err
		}
		if err := r.loadSlot(ctx, pool, slot, n); err != nil {
			return err
		}
		written += n
		if err := r.untilSettled(ctx, pool, written); err != nil {
			return err
		}
		if err := r.purge(ctx); err != nil {
			return err
		}
		last := written >= events
		if cycle%step == 0 || last {
			if err := soakFigures(ctx, pool, written); err != nil {
				return err
			}
		}
		if _, err := keeper.Pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// purge forgets what was published: the disk is for the database.
func (r *rig) purge(ctx context.Context) error {
	stream, err := r.js.Stream(ctx, r.stream)
	if err != nil {
		return err
	}
	return stream.Purge(ctx)
}

// loadSlot commits n events into a slot, 1,000 to a transaction.
func (r *rig) loadSlot(ctx context.Context, pool *pgxpool.Pool, slot, n int) error {
	for from := 0; from < n; from += 1000 {
		_, err := pool.Exec(ctx, `INSERT INTO outbox.event_outbox (slot, event_id, source, type, partition_key, datacontenttype, data)
			SELECT $4, gen_random_uuid()::text, '/bench', 'bench.happened', 'key-' || (i * 7919) % 10000, 'application/json',
			       convert_to('"' || left(repeat(md5(i::text), $3::int / 32 + 1), $3::int - 2) || '"', 'UTF8')
			  FROM generate_series($1::bigint, $2::bigint) AS i`, from+1, min(from+1000, n), r.size, slot)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
	}
	return nil
}

// soakFigures prints the state after that many events; looks are the best of several.
func soakFigures(ctx context.Context, pool *pgxpool.Pool, written int) error {
	state, err := retention.Look(ctx, pool, "outbox", time.Microsecond)
	if err != nil {
		return err
	}
	_, bytes, dead := state.Totals()
	look, err := best(5, func() error { _, err := retention.Look(ctx, pool, "outbox", time.Microsecond); return err })
	if err != nil {
		return err
	}
	read, err := best(5, func() error { _, err := relay.ReadStatus(ctx, pool, "outbox", "default"); return err })
	if err != nil {
		return err
	}
	var batches int64
	if err := pool.QueryRow(ctx, "SELECT pg_total_relation_size('outbox.outbox_batch')").Scan(&batches); err != nil {
		return err
	}
	fmt.Printf("BENCH soak_events %d events\nBENCH soak_log_size %.1f MiB\nBENCH soak_dead_rows %d rows\nBENCH soak_batches_size %.1f MiB\nBENCH soak_read %.1f ms\nBENCH soak_look %.1f ms\n",
		written, float64(bytes)/(1<<20), dead, float64(batches)/(1<<20), float64(read.Microseconds())/1000, float64(look.Microseconds())/1000)
	return nil
}

// best is the shortest of several times that do took.
func best(times int, do func() error) (time.Duration, error) {
	shortest := time.Hour
	for range times {
		start := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest, nil
}
