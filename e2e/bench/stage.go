package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
	"github.com/holdfast-dev/holdfast/outbox"
)

// measureStaging measures what an event adds to the business transaction that stages it, what a NOTIFY
// adds to that, and how many events a second one connection stages one by one and 1,000 to a call.
func measureStaging(ctx context.Context, r *rig) error {
	ratio := &figure.Figure{Name: "stage_ratio", Unit: "ratio"}
	notify := &figure.Figure{Name: "stage_notify_ratio", Unit: "ratio"}
	single := &figure.Figure{Name: "stage_single_rate", Unit: "events/s"}
	bulk := &figure.Figure{Name: "stage_bulk_rate", Unit: "events/s"}
	bulkRatio := &figure.Figure{Name: "stage_bulk_ratio", Unit: "ratio"}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer drop()
	if _, err := pool.Exec(ctx, "CREATE TABLE orders (id uuid PRIMARY KEY, customer text NOT NULL, total numeric NOT NULL)"); err != nil {
		return err
	}
	loud, err := outbox.New(outbox.Config{NotifyChannel: "bench"})
	if err != nil {
		return err
	}
	transactions := r.scaled(3000)
	for i := range r.runs {
		progress("run %d of %d: staging", i+1, r.runs)
		plain, err := orders(ctx, pool, outbox.PublishTx, transactions, 0)
		if err != nil {
			return err
		}
		with, err := orders(ctx, pool, outbox.PublishTx, transactions, 1)
		if err != nil {
			return err
		}
		noticed, err := orders(ctx, pool, loud.PublishTx, transactions, 1)
		if err != nil {
			return err
		}
		many, err := orders(ctx, pool, outbox.PublishTx, max(transactions/100, 3), 1000)
		if err != nil {
			return err
		}
		ratio.Add(with.perTransaction / plain.perTransaction)
		notify.Add(noticed.perTransaction / with.perTransaction)
		single.Add(with.rate)
		bulk.Add(many.rate)
		bulkRatio.Add(many.rate / with.rate)
	}
	figures{ratio, notify, single, bulk, bulkRatio}.print()
	return nil
}

// staged is what a run of transactions gave: seconds of one, and events a second.
type staged struct{ perTransaction, rate float64 }

// publish stages events.
type publish func(ctx context.Context, tx outbox.PgxTx, events ...event.Event) ([]string, error)

// orders commits transactions that insert an order and stage some events, one after the other.
func orders(ctx context.Context, pool *pgxpool.Pool, stage publish, transactions, events int) (staged, error) {
	batch := make([]event.Event, events)
	for i := range batch {
		e := event.New()
		e.SetSource("/bench")
		e.SetType("bench.happened")
		e.SetExtension("partitionkey", fmt.Sprint("key-", i))
		_ = e.SetData("application/octet-stream", make([]byte, 512)) // bytes always fit
		batch[i] = e
	}
	start := time.Now()
	for range transactions {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders (id, customer, total) VALUES ($1, 'customer', 12.5)", uuid.New()); err != nil {
				return err
			}
			_, err := stage(ctx, tx, batch...)
			return err
		})
		if err != nil {
			return staged{}, err
		}
	}
	seconds := time.Since(start).Seconds()
	return staged{perTransaction: seconds / float64(transactions), rate: float64(transactions*events) / seconds}, nil
}
