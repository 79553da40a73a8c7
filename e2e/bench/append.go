package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
	"github.com/holdfast-dev/holdfast/outbox"
)

// appendWorkers is how many transactions a service has at once.
const appendWorkers = 8

// measureAppend measures what staging an event costs a service that is busy: transactions a second that insert an
// order and stage an event about it, as the README teaches, beside those that only insert the order.
func measureAppend(ctx context.Context, r *rig) error {
	bare := &figure.Figure{Name: "append_bare_rate", Unit: "transactions/s"}
	rate := &figure.Figure{Name: "append_rate", Unit: "transactions/s"}
	ratio := &figure.Figure{Name: "append_ratio", Unit: "ratio"}
	transactions := r.scaled(20_000)
	for i := range r.runs {
		progress("run %d of %d: appending", i+1, r.runs)
		without, err := r.append(ctx, transactions, false)
		if err != nil {
			return err
		}
		with, err := r.append(ctx, transactions, true)
		if err != nil {
			return err
		}
		bare.Add(without)
		rate.Add(with)
		ratio.Add(with / without)
	}
	figures{bare, rate, ratio}.print()
	return nil
}

// append commits orders in a fresh database, each in a transaction of its own, and returns how many
// it commits a second.
func (r *rig) append(ctx context.Context, transactions int, staging bool) (float64, error) {
	fresh, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return 0, err
	}
	defer drop()
	if _, err := fresh.Exec(ctx, "CREATE TABLE orders (id text PRIMARY KEY, total bigint NOT NULL)"); err != nil {
		return 0, err
	}
	cfg := fresh.Config()
	cfg.MaxConns, cfg.MinConns = appendWorkers, appendWorkers
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	start := time.Now()
	workers, working := errgroup.WithContext(ctx)
	for w := range appendWorkers {
		workers.Go(func() error {
			for i := w; i < transactions; i += appendWorkers {
				if err := placeOrder(working, pool, uuid.NewString(), i, staging); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return 0, err
	}
	seconds := time.Since(start).Seconds()
	return float64(transactions) / seconds, wantOrders(ctx, pool, transactions, staging)
}

// placeOrder is the function of the README.
func placeOrder(ctx context.Context, pool *pgxpool.Pool, id string, total int, staging bool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2)", id, total); err != nil || !staging {
			return err
		}
		e := event.New()
		e.SetSource("/orders")
		e.SetType("order.placed")
		e.SetExtension("partitionkey", id)
		if err := e.SetData("application/json", map[string]any{"id": id, "total": total}); err != nil {
			return err
		}
		_, err := outbox.PublishTx(ctx, tx, e)
		return err
	})
}

// wantOrders counts what was committed: each order, and an event of each where events were staged.
func wantOrders(ctx context.Context, pool *pgxpool.Pool, transactions int, staging bool) error {
	want := 0
	if staging {
		want = transactions
	}
	var orders, events int
	err := pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM orders),
		(SELECT count(*) FROM outbox.event_outbox AS e JOIN orders AS o ON o.id = e.partition_key)`).Scan(&orders, &events)
	if err != nil {
		return err
	}
	if orders != transactions || events != want {
		return fmt.Errorf("%d orders and %d events of them, want %d and %d", orders, events, transactions, want)
	}
	return nil
}
