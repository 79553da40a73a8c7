package shop

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// coordinator is who decides about checkouts; it stands in the audit of each.
const coordinator = "checkout"

// Operation is a checkout: steps in both services that count together or not at all.
type Operation struct {
	db    *pgxpool.Pool
	hold  outbox.Hold
	order Order
}

// Step is what the checkout asks a service to do, in a transaction of its own.
type Step struct {
	Name   string    // unique within the operation
	Kind   string    // of what it writes: order or payment
	Entity uuid.UUID // which one
	Write  func(tx pgx.Tx, held *outbox.Hold) error
}

var (
	//go:embed sql/begin_operation.sql
	beginOperationSQL string
	//go:embed sql/decide_operation.sql
	decideOperationSQL string
	//go:embed sql/call_off.sql
	callOffSQL string
)

// Begin opens a checkout. Nothing can be held under one that is not registered.
func Begin(ctx context.Context, db *pgxpool.Pool, h outbox.Hold, o Order) (*Operation, error) {
	op := &Operation{db: db, hold: h, order: o}
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := hold.Register(ctx, tx, h, coordinator); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, beginOperationSQL, h.Operation, h.Generation, o.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("begin checkout of order %s: %w", o.ID, err)
	}
	return op, nil
}

// Do runs a step. What the step stages with the hold waits for the decision. A step that
// was applied before is not run again, and after the decision every step is refused
// with an outbox.HoldRefusedError.
func (op *Operation) Do(ctx context.Context, s Step) (receipt.Outcome, error) {
	key, err := receipt.Named(s.Name)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal([]any{s.Kind, s.Entity, op.order}) // a service hashes the request that it got
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(body)
	var result receipt.Result
	err = pgx.BeginFunc(ctx, op.db, func(tx pgx.Tx) (err error) {
		result, err = receipt.Do(ctx, tx, receipt.Step{
			Operation: op.hold.Operation, Generation: op.hold.Generation, Key: key, EntityKind: s.Kind, BodyDigest: digest[:],
		}, func(tx pgx.Tx) (string, error) {
			return s.Entity.String(), s.Write(tx, &op.hold)
		})
		return err
	})
	return result.Outcome, err
}

// Complete lets all events of the checkout leave, in the order in which they were staged.
// It may be called again: only one call makes the change.
func (op *Operation) Complete(ctx context.Context) (hold.Answer, error) {
	return op.decide(ctx, "completed", hold.Release, nil)
}

// CallOff undoes the checkout. Its events are gone, as if they had never been staged.
func (op *Operation) CallOff(ctx context.Context) (hold.Answer, error) {
	return op.decide(ctx, "called off", hold.Cancel, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, callOffSQL, op.order.ID)
		return err
	})
}

type decision func(ctx context.Context, db hold.DB, h outbox.Hold, by string, opts ...hold.DecideOption) (hold.Answer, error)

// decide makes the decision, writes it down and undoes what is to be undone, all in one
// transaction. The decision comes first: it takes the lock that keeps others out.
func (op *Operation) decide(ctx context.Context, state string, call decision, undo func(tx pgx.Tx) error) (hold.Answer, error) {
	var answer hold.Answer
	err := pgx.BeginFunc(ctx, op.db, func(tx pgx.Tx) (err error) {
		if answer, err = call(ctx, tx, op.hold, coordinator); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, decideOperationSQL, op.hold.Operation, op.hold.Generation, state); err != nil {
			return err
		}
		if undo != nil {
			return undo(tx)
		}
		return nil
	})
	if err != nil {
		return answer, fmt.Errorf("%s checkout of order %s: %w", state, op.order.ID, err)
	}
	return answer, nil
}
