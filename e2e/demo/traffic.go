package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/demo/shop"
)

// traffic is what the customers of the shop do.
type traffic struct {
	db    *pgxpool.Pool
	seed  uint64
	tally *tally
}

// errChangedMind makes a transaction roll back that has staged events.
var errChangedMind = errors.New("the customer changed his mind")

// run places orders with several workers. It closes halfway when half of them are begun.
func (t *traffic) run(ctx context.Context, orders, workers int, halfway chan<- struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			for ctx.Err() == nil {
				n := t.tally.orders.Add(1)
				if n > int64(orders) {
					t.tally.orders.Add(-1)
					return nil
				}
				if n == int64(orders+1)/2 {
					close(halfway)
				}
				if err := t.order(ctx, n); err != nil {
					return fmt.Errorf("order %d: %w", n, err)
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// order lets one customer order. What happens depends on the seed and the number alone.
func (t *traffic) order(ctx context.Context, n int64) error {
	c := &customer{traffic: t, rng: rand.New(rand.NewPCG(t.seed, uint64(n)))}
	o := c.newOrder()
	switch dice := c.rng.IntN(100); {
	case dice < 4:
		return c.abandon(ctx, o)
	case dice < 8:
		return c.hesitate(ctx, o)
	case dice < 14:
		return c.checkout(ctx, o)
	default:
		return c.buy(ctx, o)
	}
}

// customer orders once.
type customer struct {
	*traffic
	rng *rand.Rand
}

// names are not plain ASCII, so that a body which is parsed and written again differs.
var names = []string{"Ada <ada@example.com>", "Žofie", "김민준", "O'Brien & Sons", "Renée \"R\" Dupont", "🦊"}

func (c *customer) newOrder() shop.Order {
	return shop.Order{ID: c.newID(), Customer: names[c.rng.IntN(len(names))], TotalCents: 100 + c.rng.Int64N(100_000)}
}

func (c *customer) paymentOf(o shop.Order) shop.Payment {
	return shop.Payment{ID: c.newID(), Order: o.ID, AmountCents: o.TotalCents}
}

// newID makes an id from the seed.
func (c *customer) newID() uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(c.rng.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4
	return id
}

// commit runs write, which stages one event, in a transaction of its own.
func (c *customer) commit(ctx context.Context, write func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, c.db, write)
	if err == nil {
		c.tally.committed.Add(1)
	}
	return err
}

// buy places an order. Some customers pay for it; some orders are moved on by two writers
// at the same time.
func (c *customer) buy(ctx context.Context, o shop.Order) error {
	err := c.commit(ctx, func(tx pgx.Tx) error { return shop.PlaceOrder(ctx, tx, nil, o) })
	if err != nil {
		return err
	}
	if c.rng.IntN(100) < 15 {
		p := c.paymentOf(o)
		err := c.commit(ctx, func(tx pgx.Tx) error { return shop.AuthorizePayment(ctx, tx, nil, p) })
		if err != nil {
			return err
		}
		err = c.commit(ctx, func(tx pgx.Tx) error { return shop.CapturePayment(ctx, tx, nil, p.ID) })
		if err != nil {
			return err
		}
	}
	if c.rng.IntN(100) < 15 {
		group, ctx := errgroup.WithContext(ctx)
		for range 2 { // whoever comes first makes it paid, the other one shipped
			group.Go(func() error { return c.advance(ctx, o) })
		}
		return group.Wait()
	}
	return nil
}

func (c *customer) advance(ctx context.Context, o shop.Order) error {
	return c.commit(ctx, func(tx pgx.Tx) error { return shop.AdvanceOrder(ctx, tx, nil, o.ID) })
}

// abandon writes an order and a payment with their events, and rolls everything back.
func (c *customer) abandon(ctx context.Context, o shop.Order) error {
	err := pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		if err := shop.PlaceOrder(ctx, tx, nil, o); err != nil {
			return err
		}
		if err := shop.AuthorizePayment(ctx, tx, nil, c.paymentOf(o)); err != nil {
			return err
		}
		return errChangedMind
	})
	return c.rolledBack(err, 2)
}

// hesitate rolls back to a savepoint and commits what is before it.
func (c *customer) hesitate(ctx context.Context, o shop.Order) error {
	return c.commit(ctx, func(tx pgx.Tx) error {
		if err := shop.PlaceOrder(ctx, tx, nil, o); err != nil {
			return err
		}
		err := pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
			if err := shop.AdvanceOrder(ctx, savepoint, nil, o.ID); err != nil {
				return err
			}
			return errChangedMind
		})
		return c.rolledBack(err, 1)
	})
}

// rolledBack expects err to be the reason of a deliberate rollback, and counts its events.
func (c *customer) rolledBack(err error, events int64) error {
	if !errors.Is(err, errChangedMind) {
		return fmt.Errorf("a transaction that should have rolled back: %w", err)
	}
	c.tally.rolledBack.Add(events)
	return nil
}
