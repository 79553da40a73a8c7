package hold

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Sentinels of compensation, for errors.Is.
var (
	// ErrNotCancelled: only a cancelled generation can be compensated.
	ErrNotCancelled = errors.New("generation is active")
	// ErrCompensationStaged: the Compensator staged an event, and was undone itself.
	ErrCompensationStaged = errors.New("compensation staged an event")
)

// Beginner is what [Store.Compensate] needs: a pool, which opens a transaction for each step.
type Beginner interface {
	DB
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Compensation is what became of the steps of a cancelled generation.
type Compensation struct {
	Undone int64
	// Quarantined are the entities that were left to a person, by step.
	Quarantined []Quarantined
	// Pending are the steps that have no outcome yet; 0 when nothing is left to do.
	Pending int64
	// Changed says that this very call finished the generation.
	Changed bool
}

// Compensate undoes the entities of a cancelled generation, step by step: it reads the receipts
// anew, and for each one without an outcome opens a READ COMMITTED transaction, has undo lock
// the entity, and then undo it or leave it to a person. by is who does it, 1 to 255 bytes, for
// the audit of what is quarantined.
//
// A step that fails is rolled back and does not stop the others; it is tried again by the next
// call. So the call can be repeated after an error, a crash or an unknown outcome, and by two
// at once: each step gets its one outcome. Steps have no order. A generation that was dropped,
// or had no receipts, has nothing pending.
//
// Errors, beside an answer which counts what has been done:
//   - [ErrNotCancelled], outbox.ErrGenerationReleased, outbox.ErrGenerationUnknown: nothing was
//     done.
//   - [ErrCompensationStaged]: of one step; its transaction was rolled back.
//   - what undo returned, wrapped, joined over the steps; at most ten of them.
func (s *Store) Compensate(ctx context.Context, db Beginner, h outbox.Hold, by string, undo Compensator) (Compensation, error) {
	if err := check(h, by); err != nil {
		return Compensation{}, fmt.Errorf("compensate generation: %w", err)
	}
	if undo == nil {
		return Compensation{}, fmt.Errorf("compensate generation: %w",
			call.Invalid("compensator", "is nil", "Pass what undoes the entities, or drop the generation instead."))
	}
	failed, err := s.compensateSteps(ctx, db, h, by, undo)
	if err != nil {
		return Compensation{}, fmt.Errorf("compensate generation: %w", explainCompensation(err, h))
	}
	answer, err := s.finish(ctx, db, h, by)
	if err != nil {
		failed = append(failed, fmt.Errorf("finish: %w", explainCompensation(err, h)))
	}
	if err := errors.Join(failed...); err != nil {
		return answer, fmt.Errorf("compensate generation: %w", err)
	}
	return answer, nil
}

// maxFailures is how many errors of steps are kept; the others are like them, and counted as
// pending.
const maxFailures = 10

// compensateSteps goes through the receipts once. failed are the errors of steps.
func (s *Store) compensateSteps(ctx context.Context, db Beginner, h outbox.Hold, by string, undo Compensator) (failed []error, err error) {
	for after := ""; ; {
		rows, err := db.Query(ctx, s.receipts, h.Operation.String(), h.Generation, after, defaultPage)
		if err != nil {
			return nil, err
		}
		steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		for _, step := range steps {
			err := s.compensateStep(ctx, db, h, by, step, undo)
			if err != nil && len(failed) < maxFailures {
				failed = append(failed, fmt.Errorf("step %s: %w", step, explainCompensation(err, h)))
			}
			if ctx.Err() != nil {
				return failed, nil
			}
			after = step
		}
		if len(steps) < defaultPage {
			return failed, nil
		}
	}
}

// compensateStep is one transaction: the receipt, the entity's lock, the entity, the outcome.
func (s *Store) compensateStep(ctx context.Context, db Beginner, h outbox.Hold, by, step string, undo Compensator) error {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	r := Receipt{Hold: h, Step: step}
	var outcome string
	err = tx.QueryRow(ctx, s.compensationBegin, h.Operation.String(), h.Generation, step).
		Scan(&r.EntityKind, &r.StableID, &r.AppliedAt, &outcome)
	if err != nil || outcome != "" { // somebody else was here
		return err
	}
	r.AppliedAt = r.AppliedAt.UTC()
	if err := undo.Lock(ctx, tx, r); err != nil {
		return fmt.Errorf("lock the entity: %w", err)
	}
	fate, err := undo.Undo(ctx, tx, r)
	if err != nil {
		return fmt.Errorf("undo the entity: %w", err)
	}
	if err := fate.check(); err != nil {
		return err
	}
	err = tx.QueryRow(ctx, s.compensationEnd, h.Operation.String(), h.Generation, step, by, fate.outcome, optional(fate.reason)).Scan(&outcome)
	if err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// rollback ends a transaction that was not committed, also when ctx has ended.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	_ = tx.Rollback(ctx) // reports only that the transaction is over, or its connection
}

func (s *Store) finish(ctx context.Context, db DB, h outbox.Hold, by string) (Compensation, error) {
	var answer Compensation
	rows, err := db.Query(ctx, s.compensationFinish, h.Operation.String(), h.Generation, by)
	if err != nil {
		return answer, err
	}
	var quarantined int64
	_, err = pgx.ForEachRow(rows, []any{&answer.Undone, &quarantined, &answer.Pending, &answer.Changed}, func() error { return nil })
	if err != nil {
		return Compensation{}, err
	}
	answer.Quarantined, err = s.Quarantined(ctx, db, h)
	return answer, err
}

func explainCompensation(err error, h outbox.Hold) error {
	switch call.State(err) {
	case "HF016":
		return call.Because(ErrCompensationStaged, err)
	case "HF017":
		return call.Because(ErrNotCancelled, err)
	}
	return call.Explain(err, h)
}
