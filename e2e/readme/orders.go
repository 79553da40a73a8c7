package readme

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

func placeOrder(ctx context.Context, pool *pgxpool.Pool, id string, total int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2)", id, total); err != nil {
			return err
		}
		e := event.New()
		e.SetSource("/orders")
		e.SetType("order.placed")
		e.SetExtension("partitionkey", id) // events of one order stay in order
		if err := e.SetData("application/json", map[string]any{"id": id, "total": total}); err != nil {
			return err
		}
		_, err := outbox.PublishTx(ctx, tx, e)
		return err
	})
}

func placeHeld(ctx context.Context, pool *pgxpool.Pool, h outbox.Hold, id string, e event.Event) error {
	if _, err := hold.Register(ctx, pool, h, "checkout"); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, 0)", id); err != nil {
			return err
		}
		_, err := outbox.PublishTxHeld(ctx, tx, h, e) // waits in the outbox
		return err
	})
}

// decide ends an operation: everything that it staged leaves, or none of it ever does.
func decide(ctx context.Context, pool *pgxpool.Pool, h outbox.Hold, ok bool) error {
	if ok {
		_, err := hold.Release(ctx, pool, h, "checkout")
		return err
	}
	_, err := hold.Cancel(ctx, pool, h, "checkout")
	return err
}
