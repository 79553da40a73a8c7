package intake

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// Filed is the type of the event of an application.
const Filed = "application.filed"

// work is what an operation does: the remote steps, and the local commit.
func (s *Service) work(won saga.Won, form Form) (saga.Work, error) {
	var pinned basis
	if err := json.Unmarshal(won.Basis, &pinned); err != nil {
		return saga.Work{}, fmt.Errorf("read the basis: %w", err)
	}
	steps, err := s.steps(form, pinned)
	if err != nil {
		return saga.Work{}, err
	}
	return saga.Work{
		Steps: steps,
		Final: func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
			_, err := tx.Exec(ctx, insertApplicationSQL, won.Operation, remote["household"], pinned.Today, pinned.ReceivedAt, form.Consent)
			if err != nil {
				return nil, fmt.Errorf("write the application: %w", err)
			}
			if _, err := tx.Exec(ctx, deleteDraftSQL, won.Operation); err != nil {
				return nil, fmt.Errorf("consume the draft: %w", err)
			}
			answer, err := readAnswer(ctx, tx, won.Operation)
			if err != nil {
				return nil, fmt.Errorf("read the application: %w", err)
			}
			filed, err := filed(won.Operation, answer)
			if err != nil {
				return nil, err
			}
			_, err = s.events.PublishTx(ctx, tx, filed)
			return answer, err
		},
	}, nil
}

func filed(application uuid.UUID, answer json.RawMessage) (event.Event, error) {
	e := event.New()
	e.SetType(Filed)
	e.SetSubject(application.String())
	e.SetExtension("partitionkey", application.String())
	return e, e.SetData(event.ApplicationJSON, []byte(answer))
}
