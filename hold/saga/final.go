package saga

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

const uniqueViolation = "23505"

// finish runs the final transaction. Whoever comes second reads what the first one wrote. ours says
// that this transaction completed the operation.
func (c *Coordinator) finish(ctx context.Context, won *Won, work Work, remote map[string]string) (result json.RawMessage, ours bool, err error) {
	gone := false
	err = inTransaction(ctx, c.db, func(tx pgx.Tx) error {
		there, err := won.request.Subject(ctx, tx)
		if err != nil {
			return fmt.Errorf("lock the subject: %w", err)
		}
		if !there {
			gone = true
			return ErrSubjectGone
		}
		answer, err := work.Final(ctx, tx, remote)
		if err != nil {
			return fmt.Errorf("final transaction: %w", err)
		}
		if !json.Valid(answer) {
			return call.Invalid("result", "is not JSON", "Return the answer for the client from Final.")
		}
		result, err = c.store.MarkCompleted(ctx, tx, won.Claim, answer)
		return err
	})
	switch {
	case err == nil:
		return result, true, nil
	case gone || call.State(err) == uniqueViolation:
		result, err = c.authoritative(ctx, won, err)
		return result, false, err
	}
	return nil, false, err
}

// authoritative returns what was written by somebody else, or the error that led here.
func (c *Coordinator) authoritative(ctx context.Context, won *Won, cause error) (result json.RawMessage, err error) {
	err = inTransaction(ctx, c.db, func(tx pgx.Tx) error {
		row, err := c.store.lock(ctx, tx, won.Operation)
		if err != nil {
			return err
		}
		if row != nil && row.State == StateCompleted {
			result = json.RawMessage(*row.Result)
			return nil
		}
		result, err = won.request.Result(ctx, tx)
		if err != nil {
			return fmt.Errorf("read the result: %w", err)
		}
		if len(result) == 0 {
			return cause
		}
		return nil
	})
	return result, err
}
