package shop

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Order is what a customer orders.
type Order struct {
	ID         uuid.UUID
	Customer   string
	TotalCents int64
}

// orderEvent is the payload of every event of an order.
type orderEvent struct {
	Order      uuid.UUID `json:"order"`
	Version    int       `json:"version"`
	State      string    `json:"state"`
	Customer   string    `json:"customer"`
	TotalCents int64     `json:"total_cents"`
}

var (
	//go:embed sql/place_order.sql
	placeOrderSQL string
	//go:embed sql/advance_order.sql
	advanceOrderSQL string
	//go:embed sql/record_order.sql
	recordOrderSQL string
)

// PlaceOrder writes a new order and stages order.placed.
func PlaceOrder(ctx context.Context, tx pgx.Tx, held *outbox.Hold, o Order) error {
	if _, err := tx.Exec(ctx, placeOrderSQL, o.ID, o.Customer, o.TotalCents); err != nil {
		return fmt.Errorf("place order %s: %w", o.ID, err)
	}
	return tellOrder(ctx, tx, held, o, "placed", 1)
}

// AdvanceOrder moves an order from placed to paid, or from paid to shipped, and stages
// order.paid or order.shipped.
func AdvanceOrder(ctx context.Context, tx pgx.Tx, held *outbox.Hold, id uuid.UUID) error {
	o := Order{ID: id}
	var state string
	var version int
	if err := tx.QueryRow(ctx, advanceOrderSQL, id).Scan(&o.Customer, &o.TotalCents, &state, &version); err != nil {
		return fmt.Errorf("advance order %s: %w", id, err)
	}
	return tellOrder(ctx, tx, held, o, state, version)
}

func tellOrder(ctx context.Context, tx pgx.Tx, held *outbox.Hold, o Order, state string, version int) error {
	return change{
		source: "/orders", eventType: "order." + state, key: o.ID, version: version, record: recordOrderSQL,
		payload: orderEvent{Order: o.ID, Version: version, State: state, Customer: o.Customer, TotalCents: o.TotalCents},
	}.stage(ctx, tx, held)
}
