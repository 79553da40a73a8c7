package shop

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Payment is what an order costs.
type Payment struct {
	ID          uuid.UUID
	Order       uuid.UUID
	AmountCents int64
}

// paymentEvent is the payload of every event of a payment.
type paymentEvent struct {
	Payment     uuid.UUID `json:"payment"`
	Order       uuid.UUID `json:"order"`
	Version     int       `json:"version"`
	AmountCents int64     `json:"amount_cents"`
}

var (
	//go:embed sql/authorize_payment.sql
	authorizePaymentSQL string
	//go:embed sql/capture_payment.sql
	capturePaymentSQL string
	//go:embed sql/record_payment.sql
	recordPaymentSQL string
)

// AuthorizePayment writes a new payment and stages payment.authorized.
func AuthorizePayment(ctx context.Context, tx pgx.Tx, held *outbox.Hold, p Payment) error {
	if _, err := tx.Exec(ctx, authorizePaymentSQL, p.ID, p.Order, p.AmountCents); err != nil {
		return fmt.Errorf("authorize payment %s: %w", p.ID, err)
	}
	return tellPayment(ctx, tx, held, p, "payment.authorized", 1)
}

// CapturePayment takes the money of an authorized payment and stages payment.captured.
func CapturePayment(ctx context.Context, tx pgx.Tx, held *outbox.Hold, id uuid.UUID) error {
	p := Payment{ID: id}
	var version int
	if err := tx.QueryRow(ctx, capturePaymentSQL, id).Scan(&p.Order, &p.AmountCents, &version); err != nil {
		return fmt.Errorf("capture payment %s: %w", id, err)
	}
	return tellPayment(ctx, tx, held, p, "payment.captured", version)
}

func tellPayment(ctx context.Context, tx pgx.Tx, held *outbox.Hold, p Payment, eventType string, version int) error {
	return change{
		source: "/payments", eventType: eventType, key: p.ID, version: version, record: recordPaymentSQL,
		payload: paymentEvent{Payment: p.ID, Order: p.Order, Version: version, AmountCents: p.AmountCents},
	}.stage(ctx, tx, held)
}
