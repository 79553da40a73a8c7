package saga_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// finalize turns a draft into an order, which needs a person at another service.
type finalize struct {
	db          *pgxpool.Pool
	coordinator *saga.Coordinator
	keys        *saga.Keys
	callPeople  func(ctx context.Context, c saga.Call, today string) (personID string, err error)
}

func (f *finalize) answer(ctx context.Context, w http.ResponseWriter, id uuid.UUID, request json.RawMessage) error {
	digest, err := f.keys.Digest("order.finalize", request)
	if err != nil {
		return err
	}
	var basis json.RawMessage // what may differ between two runs is pinned with the first one
	if err := f.db.QueryRow(ctx, `SELECT json_build_object('today', current_date)`).Scan(&basis); err != nil {
		return err
	}
	outcome, err := f.coordinator.ClaimOrResume(ctx, saga.Request{
		ID: id, Kind: "order.finalize", Basis: basis, Digest: digest,
		Subject: func(ctx context.Context, tx pgx.Tx) (bool, error) {
			tag, err := tx.Exec(ctx, `SELECT FROM draft WHERE id = $1 FOR UPDATE`, id)
			return tag.RowsAffected() > 0, err
		},
		Result: func(ctx context.Context, tx pgx.Tx) (answer json.RawMessage, err error) {
			err = tx.QueryRow(ctx, `SELECT (SELECT answer FROM orders WHERE id = $1)`, id).Scan(&answer)
			return answer, err
		},
	})
	if err != nil {
		return err
	}
	won, ours := outcome.(saga.Won)
	if !ours {
		return tell(w, outcome)
	}
	answer, err := f.coordinator.Run(ctx, won, f.work(won))
	if err != nil {
		return err
	}
	return tell(w, saga.Completed{Result: answer.Result})
}

func (f *finalize) work(won saga.Won) saga.Work {
	person, _ := receipt.Named("person") // a constant: it cannot fail
	return saga.Work{
		Steps: []saga.Step{{Key: person, Kind: "person", Do: func(ctx context.Context, c saga.Call) (string, error) {
			var pinned struct{ Today string }
			if err := json.Unmarshal(won.Basis, &pinned); err != nil {
				return "", err
			}
			return f.callPeople(ctx, c, pinned.Today)
		}}},
		Final: func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
			answer, err := json.Marshal(map[string]string{"person": remote["person"]})
			if err != nil {
				return nil, err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO orders (id, answer) VALUES ($1, $2)`, won.Operation, answer); err != nil {
				return nil, err
			}
			_, err = tx.Exec(ctx, `DELETE FROM draft WHERE id = $1`, won.Operation)
			return answer, err
		},
	}
}

func tell(w http.ResponseWriter, outcome saga.Outcome) error {
	if busy, is := outcome.(saga.InProgressElsewhere); is {
		w.Header().Set("Retry-After", strconv.Itoa(busy.RetryAfterSeconds()))
	}
	w.WriteHeader(outcome.HTTPStatus())
	if done, is := outcome.(saga.Completed); is {
		_, err := w.Write(done.Result)
		return err
	}
	_, err := fmt.Fprintf(w, "{\"type\": \"%s\"}\n", outcome.Name())
	return err
}

// An operation of a service: claim, run, answer.
func Example() {
	_ = (&finalize{}).answer
}
