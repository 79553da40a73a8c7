package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// measureRetained compares the drain of a database that keeps 5,000,000 published events and
// holds 1,000,000 others with the drain of an empty one.
func measureRetained(ctx context.Context, r *rig) error {
	ratio := &figure.Figure{Name: "retained_ratio", Unit: "ratio"}
	lean, dropLean, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer dropLean()
	fat, dropFat, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer dropFat()
	if err := r.fatten(ctx, fat, r.scaled(5_000_000), r.scaled(1_000_000)); err != nil {
		return err
	}
	for i := range r.runs {
		rate := map[*pgxpool.Pool]float64{}
		for _, pool := range []*pgxpool.Pool{lean, fat} {
			progress("run %d of %d: drain, and drain beside what is retained and held", i+1, r.runs)
			if err := r.freshStream(ctx); err != nil {
				return err
			}
			if err := r.load(ctx, pool, r.events); err != nil {
				return err
			}
			took, err := r.drain(ctx, pool, r.events)
			if err != nil {
				return err
			}
			rate[pool] = float64(r.events) / took.Seconds()
		}
		ratio.Add(rate[fat] / rate[lean])
	}
	ratio.Print(os.Stdout)
	return nil
}

// fatten fills a database with events that are settled, in all slots, and with held ones.
func (r *rig) fatten(ctx context.Context, pool *pgxpool.Pool, retained, held int) error {
	const each = 100_000
	for from := 0; from < retained+held; from += each {
		progress("fill with %d retained and %d held events: %d", retained, held, from)
		_, err := pool.Exec(ctx, `INSERT INTO outbox.event_outbox (slot, event_id, source, type, partition_key, data, tx, hold_operation_id, hold_generation)
			SELECT i % 4, gen_random_uuid()::text, '/bench', 'bench.happened', 'key-' || (i * 7919) % 10000, '\x00',
			       CASE WHEN i > $3 THEN pg_current_xact_id() END,
			       CASE WHEN i <= $3 THEN gen_random_uuid() END, CASE WHEN i <= $3 THEN 1 END
			  FROM generate_series($1::bigint, $2::bigint) AS i`, from+1, min(from+each, retained+held), held)
		if err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	// What is retained was settled once: the lanes say so.
	_, err := pool.Exec(ctx, "UPDATE outbox.outbox_lane SET drained = pg_current_snapshot() WHERE relay_group = 'default'")
	if err != nil {
		return fmt.Errorf("settle what is retained: %w", err)
	}
	_, err = pool.Exec(ctx, "VACUUM (ANALYZE) outbox.event_outbox")
	return err
}
