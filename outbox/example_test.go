package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
)

// An order and the event that says so are committed together.
func ExamplePublishTx() {
	placeOrder := func(ctx context.Context, pool *pgxpool.Pool, order string, body []byte) error {
		placed := event.New()
		placed.SetSource("/orders")
		placed.SetType("order.placed")
		placed.SetSubject(order)
		placed.SetDataContentType(event.ApplicationJSON)
		placed.SetExtension("partitionkey", order) // events of one order stay in order
		placed.DataEncoded = body

		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", order); err != nil {
				return err
			}
			_, err := outbox.PublishTx(ctx, tx, placed)
			return err
		})
	}
	_ = placeOrder
}

// A transaction of database/sql. *sqlx.Tx and bun.Tx are passed as they are; inside a GORM
// transaction it is tx.Statement.ConnPool, and an ent transaction needs the feature
// sql/execquery.
func ExamplePublishSQLTx() {
	placeOrder := func(ctx context.Context, db *sql.DB, order string, placed event.Event) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", order); err != nil {
			return err
		}
		if _, err := outbox.PublishSQLTx(ctx, tx, placed); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = placeOrder
}

// An event of a step that a coordinator may still undo is held until the operation is
// released.
func ExamplePublishTxHeld() {
	reserve := func(ctx context.Context, pool *pgxpool.Pool, operation uuid.UUID, generation int, reserved event.Event) error {
		hold := outbox.Hold{Operation: operation, Generation: generation}
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := outbox.PublishTxHeld(ctx, tx, hold, reserved)
			return err
		})
		switch {
		case errors.Is(err, outbox.ErrGenerationCancelled):
			return fmt.Errorf("the operation was undone meanwhile: %w", err)
		case outbox.Retryable(err):
			return fmt.Errorf("do the whole transaction again: %w", err)
		}
		return err
	}
	_ = reserve
}

// A service checks at its start that the database is the one that it was built for.
func ExamplePublisher_Verify() {
	start := func(ctx context.Context, pool *pgxpool.Pool) (*outbox.Publisher, error) {
		publisher, err := outbox.New(outbox.Config{Source: "/orders"})
		if err != nil {
			return nil, err
		}
		if err := publisher.Verify(ctx, pool); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, outbox.Hint(err))
		}
		return publisher, nil
	}
	_ = start
}
