package saga

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// locked is the row of an operation under its lock.
type locked struct {
	State        State
	Generation   int
	Kind         string
	KeyID        string
	Digest       []byte
	Basis        string
	Result       *string
	Participants []string
	Expired      bool           // the lease is over, or there is none
	Left         *time.Duration // of the lease
}

// claimTries bounds how often the row may change while one claim looks.
const claimTries = 5

// ClaimOrResume takes an operation, or says why not, in one short READ COMMITTED transaction that
// locks the subject first and the operation then. Only what the row says under its lock counts.
// What a client asks is no attempt of the reconciler.
//
// Errors: those of r.Subject and r.Result, wrapped; [ErrDigestKeyUnknown]; *outbox.InvalidArgumentError;
// one for which outbox.Retryable is true. Nothing was claimed then.
func (s *Store) ClaimOrResume(ctx context.Context, db Beginner, r Request) (Outcome, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("claim operation: %w", err)
	}
	var outcome Outcome
	err := inTransaction(ctx, db, func(tx pgx.Tx) (err error) {
		outcome, err = s.claim(ctx, tx, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim operation %s: %w", r.ID, err)
	}
	countClaim(ctx, outcome)
	return outcome, nil
}

func (s *Store) claim(ctx context.Context, tx pgx.Tx, r Request) (Outcome, error) {
	there, err := r.Subject(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("lock the subject: %w", err)
	}
	for range claimTries {
		row, err := s.lock(ctx, tx, r.ID)
		if err != nil {
			return nil, err
		}
		if !there {
			return s.withoutSubject(ctx, tx, r, row)
		}
		outcome, err := s.judge(ctx, tx, r, row)
		if outcome != nil || err != nil {
			return outcome, err
		}
		// Somebody else inserted it, or the clock went back. Read again, in a later statement.
	}
	return nil, fmt.Errorf("the row was another one %d times", claimTries)
}

func (s *Store) lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (*locked, error) {
	rows, err := query(ctx, s, tx, "lock.sql", pgx.RowToAddrOfStructByPos[locked], id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// judge goes by the row; nil when it is not any more as it was read.
func (s *Store) judge(ctx context.Context, tx pgx.Tx, r Request, row *locked) (Outcome, error) {
	if row == nil {
		return s.begin(ctx, tx, r)
	}
	return s.resume(ctx, tx, r, row)
}

// withoutSubject answers a client whose subject was consumed, or reaped.
func (s *Store) withoutSubject(ctx context.Context, tx pgx.Tx, r Request, row *locked) (Outcome, error) {
	if row != nil {
		if row.State == StateCompleted {
			return Completed{json.RawMessage(*row.Result)}, nil
		}
		return SubjectGone{}, nil
	}
	result, err := r.Result(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	if len(result) > 0 {
		return Completed{result}, nil
	}
	return SubjectGone{}, nil
}

// begin inserts the row; nil when another one did. A result without a row is that of an operation
// that was pruned: it never runs again.
func (s *Store) begin(ctx context.Context, tx pgx.Tx, r Request) (Outcome, error) {
	result, err := r.Result(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	if len(result) > 0 {
		return Completed{result}, nil
	}
	return s.win(ctx, tx, r, "insert.sql", false, func(holder uuid.UUID) []any {
		return []any{r.ID, r.Kind, holder, s.settings.Lease, string(r.Basis), r.Digest.Sum(), r.Digest.KeyID(), r.Participants}
	})
}

func (s *Store) resume(ctx context.Context, tx pgx.Tx, r Request, row *locked) (Outcome, error) {
	if row.State == StateCompleted {
		return Completed{json.RawMessage(*row.Result)}, nil
	}
	if row.State == StateAborted {
		if row.Generation == math.MaxInt32 {
			return nil, call.Invalid("generation", "is the last one that there can be", "Reserve another id for the operation.")
		}
		return s.win(ctx, tx, r, "restart.sql", false, func(holder uuid.UUID) []any {
			return []any{r.ID, r.Kind, holder, s.settings.Lease, string(r.Basis), r.Digest.Sum(), r.Digest.KeyID(), r.Participants}
		})
	}
	same, err := r.Digest.Matches(row.KeyID, row.Digest)
	if err != nil {
		return nil, err
	}
	switch {
	case !same || row.Kind != r.Kind:
		return DigestMismatch{}, nil
	case row.State == StateCompensating:
		return InProgressElsewhere{s.settings.Period}, nil
	case row.State == StateStuck:
		return NeedsOperator{}, nil
	case !row.Expired:
		return InProgressElsewhere{max(*row.Left, time.Millisecond)}, nil
	}
	return s.win(ctx, tx, r, "steal.sql", true, func(holder uuid.UUID) []any {
		return []any{r.ID, row.Generation, holder, s.settings.Lease}
	})
}

// win runs one of the statements that give a lease; nil when it gave none.
func (s *Store) win(ctx context.Context, tx pgx.Tx, r Request, file string, stolen bool, args func(holder uuid.UUID) []any) (Outcome, error) {
	holder, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	won, err := query(ctx, s, tx, file, func(row pgx.CollectableRow) (Won, error) {
		w := Won{Claim: Claim{Operation: r.ID, Holder: holder}, Stolen: stolen, request: r}
		var basis string
		err := row.Scan(&w.Generation, &basis, &w.Participants)
		w.Basis = json.RawMessage(basis)
		return w, err
	}, args(holder)...)
	if err != nil || len(won) == 0 {
		return nil, err
	}
	return won[0], nil
}

// inTransaction runs f at READ COMMITTED: what another transaction decided is seen after the wait
// for it.
func inTransaction(ctx context.Context, db Beginner, f func(tx pgx.Tx) error) error {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	done := false
	defer func() {
		if !done {
			rollback(ctx, tx)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	done = true
	return tx.Commit(ctx)
}

const rollbackLimit = 5 * time.Second

// rollback ends a transaction also when ctx is over.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	_ = tx.Rollback(ctx) // the connection is closed if it fails, which ends the transaction
}
