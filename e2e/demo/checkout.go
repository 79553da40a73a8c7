package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/demo/shop"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// checkoutEvents is how many events a checkout holds: one per step.
const checkoutEvents = 4

// checkout orders and pays as one operation, whose events are held until it is decided.
func (c *customer) checkout(ctx context.Context, o shop.Order) error {
	op, err := shop.Begin(ctx, c.db, outbox.Hold{Operation: c.newID(), Generation: 1}, o)
	if err != nil {
		return err
	}
	c.tally.operations.Add(1)
	if err := c.steps(ctx, op, o); err != nil {
		return err
	}
	switch dice := c.rng.IntN(100); {
	case dice < 40:
		return c.complete(ctx, op, o, 1)
	case dice < 60:
		c.tally.doubled.Add(1)
		return c.complete(ctx, op, o, 2)
	case dice < 85:
		return c.callOff(ctx, op)
	default: // never decided: its events wait for ever
		return nil
	}
}

// steps runs the steps of a checkout. Some fail after they have staged their event, and
// are tried again; of some the answer is lost, so they are called once more.
func (c *customer) steps(ctx context.Context, op *shop.Operation, o shop.Order) error {
	p := c.paymentOf(o)
	steps := [checkoutEvents]shop.Step{
		{Name: "place", Kind: "order", Entity: o.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error { return shop.PlaceOrder(ctx, tx, held, o) }},
		{Name: "authorize", Kind: "payment", Entity: p.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error { return shop.AuthorizePayment(ctx, tx, held, p) }},
		{Name: "capture", Kind: "payment", Entity: p.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error { return shop.CapturePayment(ctx, tx, held, p.ID) }},
		{Name: "pay", Kind: "order", Entity: o.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error { return shop.AdvanceOrder(ctx, tx, held, o.ID) }},
	}
	for _, step := range steps {
		dice := c.rng.IntN(10)
		if dice == 0 {
			if err := c.failedStep(ctx, op, step); err != nil {
				return err
			}
		}
		if err := c.step(ctx, op, step, receipt.Applied); err != nil {
			return err
		}
		c.tally.committed.Add(1)
		c.tally.held.Add(1)
		if dice == 1 {
			if err := c.step(ctx, op, step, receipt.Replayed); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *customer) step(ctx context.Context, op *shop.Operation, step shop.Step, want receipt.Outcome) error {
	got, err := op.Do(ctx, step)
	if err == nil && got != want {
		return fmt.Errorf("step %s was %s, it must be %s", step.Name, got, want)
	}
	return err
}

// failedStep runs a step that fails when its event is already staged.
func (c *customer) failedStep(ctx context.Context, op *shop.Operation, step shop.Step) error {
	write := step.Write
	step.Write = func(tx pgx.Tx, held *outbox.Hold) error {
		if err := write(tx, held); err != nil {
			return err
		}
		return errChangedMind
	}
	_, err := op.Do(ctx, step)
	return c.rolledBack(err, 1)
}

// complete releases the events of a checkout, by several callers at the same time, one of
// which must make the change. Then the order goes on its way like any other.
func (c *customer) complete(ctx context.Context, op *shop.Operation, o shop.Order, callers int) error {
	var changed atomic.Int64
	group, groupCtx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			answer, err := op.Complete(groupCtx)
			if err != nil {
				return err
			}
			if answer.Changed {
				changed.Add(1)
			}
			if answer.Released != checkoutEvents {
				return fmt.Errorf("released %d events of a checkout, staged were %d", answer.Released, checkoutEvents)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if changed.Load() != 1 {
		return fmt.Errorf("%d of %d callers made the release, exactly one must", changed.Load(), callers)
	}
	c.tally.held.Add(-checkoutEvents)
	if err := c.tooLate(ctx, op, c.newOrder(), outbox.ErrGenerationReleased); err != nil {
		return err
	}
	return c.advance(ctx, o)
}

// callOff drops the events of a checkout.
func (c *customer) callOff(ctx context.Context, op *shop.Operation) error {
	answer, err := op.CallOff(ctx)
	if err != nil {
		return err
	}
	if answer.Dropped != checkoutEvents {
		return fmt.Errorf("dropped %d events of a checkout, staged were %d", answer.Dropped, checkoutEvents)
	}
	c.tally.held.Add(-checkoutEvents)
	c.tally.dropped.Add(checkoutEvents)
	return c.tooLate(ctx, op, c.newOrder(), outbox.ErrGenerationCancelled)
}

// tooLate calls a step of a checkout that is decided, which must be refused.
func (c *customer) tooLate(ctx context.Context, op *shop.Operation, o shop.Order, want error) error {
	_, err := op.Do(ctx, shop.Step{Name: "late", Kind: "order", Entity: o.ID, Write: func(tx pgx.Tx, held *outbox.Hold) error {
		return shop.PlaceOrder(ctx, tx, held, o)
	}})
	if !errors.Is(err, want) {
		return fmt.Errorf("a step after the decision: got %v, want %v", err, want)
	}
	c.tally.refused.Add(1)
	return nil
}
