package shop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// change is a new version of an order or a payment, which the world shall hear of.
type change struct {
	source, eventType string
	key               uuid.UUID // also the subject of the event
	version           int
	payload           any
	record            string // the statement that writes it into the history
}

// stage stages the event of a change in the transaction that makes it, and records it in
// the history. Without a hold the event leaves once the transaction is committed; with
// one, once the operation is released as well.
func (c change) stage(ctx context.Context, tx pgx.Tx, held *outbox.Hold) error {
	body, err := json.Marshal(c.payload)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c.eventType, err)
	}
	e := event.New()
	e.SetSource(c.source)
	e.SetType(c.eventType)
	e.SetSubject(c.key.String())
	e.SetExtension("partitionkey", c.key.String()) // the ordering key
	if err := e.SetData(event.ApplicationJSON, body); err != nil {
		return fmt.Errorf("fill %s: %w", c.eventType, err)
	}

	var ids []string
	var operation *uuid.UUID
	var generation *int
	if held == nil {
		ids, err = outbox.PublishTx(ctx, tx, e)
	} else {
		ids, err = outbox.PublishTxHeld(ctx, tx, *held, e)
		operation, generation = &held.Operation, &held.Generation
	}
	if err != nil {
		return err
	}
	digest := sha256.Sum256(body)
	if _, err := tx.Exec(ctx, c.record, c.key, c.version, ids[0], c.eventType, digest[:], operation, generation); err != nil {
		return fmt.Errorf("record %s: %w", c.eventType, err)
	}
	return nil
}
