package registry

import (
	"context"
	"encoding/json"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// addFact seals what is known with a new key. The caller holds the lock of the entity, or has just
// made it.
func addFact(ctx context.Context, tx pgx.Tx, entity uuid.UUID, data []byte, held *outbox.Hold) error {
	key, secret := uuid.New(), newSecret()
	sealed, err := seal(secret, key[:], data)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, insertKeySQL, key, secret); err != nil {
		return err
	}
	operation, generation := originOf(held)
	_, err = tx.Exec(ctx, insertFactSQL, entity, key, sealed, operation, generation)
	return err
}

// stage stages one event of each type. They have ids in them, and nothing that is known about anybody.
func (s *Service) stage(ctx context.Context, tx pgx.Tx, held *outbox.Hold, id uuid.UUID, entry Entry, types ...string) error {
	body, err := json.Marshal(struct {
		ID        uuid.UUID  `json:"id"`
		Household *uuid.UUID `json:"household,omitempty"`
		Person    *uuid.UUID `json:"person,omitempty"`
	}{id, entry.Household, entry.Person})
	if err != nil {
		return err
	}
	events := make([]event.Event, len(types))
	for i, eventType := range types {
		events[i] = event.New()
		events[i].SetType(eventType)
		events[i].SetSubject(id.String())
		events[i].SetExtension("partitionkey", id.String())
		if err := events[i].SetData(event.ApplicationJSON, body); err != nil {
			return err
		}
	}
	if held == nil {
		_, err = s.events.PublishTx(ctx, tx, events...)
	} else {
		_, err = s.events.PublishTxHeld(ctx, tx, *held, events...)
	}
	return err
}
