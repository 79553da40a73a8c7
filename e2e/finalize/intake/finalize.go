package intake

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// finalize makes an application of a draft. It can be called as often as anybody likes.
func (s *Service) finalize(w http.ResponseWriter, r *http.Request) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		s.tell(w, saga.SubjectGone{})
		return
	}
	form, document, err := readForm(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	request, err := s.request(r.Context(), id, document)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	outcome, err := s.drive(r.Context(), request, form)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.tell(w, outcome)
}

// drive claims the operation and runs it. Whoever lost it on the way asks once more what became of it.
func (s *Service) drive(ctx context.Context, request saga.Request, form Form) (saga.Outcome, error) {
	outcome, err := s.attempt(ctx, request, form)
	if errors.Is(err, saga.ErrLeaseLost) {
		return s.attempt(ctx, request, form)
	}
	return outcome, err
}

func (s *Service) attempt(ctx context.Context, request saga.Request, form Form) (saga.Outcome, error) {
	outcome, err := s.coordinator.ClaimOrResume(ctx, request)
	if err != nil {
		return nil, err
	}
	won, ours := outcome.(saga.Won)
	if !ours {
		return outcome, nil
	}
	work, err := s.work(won, form)
	if err != nil {
		return nil, err
	}
	answer, err := s.coordinator.Run(ctx, won, work)
	if err != nil {
		return nil, err
	}
	return saga.Completed{Result: answer.Result}, nil
}

// request says what is consumed and what is pinned: today and now, by the clock of the database, and the
// digest of all that the client sent.
func (s *Service) request(ctx context.Context, id uuid.UUID, document json.RawMessage) (saga.Request, error) {
	digest, err := s.cfg.Keys.Digest(Kind, document)
	if err != nil {
		return saga.Request{}, errors.Join(errForm, err)
	}
	var basis string
	if err := s.db.QueryRow(ctx, basisSQL).Scan(&basis); err != nil {
		return saga.Request{}, err
	}
	return saga.Request{
		ID: id, Kind: Kind, Basis: json.RawMessage(basis), Digest: digest,
		Subject: func(ctx context.Context, tx pgx.Tx) (bool, error) {
			tag, err := tx.Exec(ctx, lockDraftSQL, id)
			return tag.RowsAffected() > 0, err
		},
		Result: func(ctx context.Context, tx pgx.Tx) (json.RawMessage, error) {
			answer, err := readAnswer(ctx, tx, id)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil, nil
			}
			return answer, err
		},
	}, nil
}

func readAnswer(ctx context.Context, tx pgx.Tx, id uuid.UUID) (json.RawMessage, error) {
	var answer string
	err := tx.QueryRow(ctx, answerSQL, id).Scan(&answer)
	return json.RawMessage(answer), err
}
