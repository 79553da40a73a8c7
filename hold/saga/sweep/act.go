package sweep

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// act is one transaction: the service's lock, the judgement under it, the undo, and its end. err is what
// would stop every candidate; what concerns this one is its result.
func (s *Sweep) act(ctx context.Context, db hold.Beginner, c Candidate, by Order, j *journal) (Result, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return Result{}, fmt.Errorf("candidate %s: %w", c.ID, explain(err))
	}
	defer rollback(ctx, tx)
	result, err := s.undo(ctx, tx, c, by)
	if err == nil && result.Transaction == "" { // nothing to commit
		return result, nil
	}
	if err != nil {
		if cause := ctx.Err(); cause != nil {
			return Result{}, fmt.Errorf("candidate %s: %w", c.ID, cause)
		}
		if ends(err) || tx.Conn().IsClosed() {
			return Result{}, fmt.Errorf("candidate %s: %w", c.ID, explain(err))
		}
		return Result{ID: c.ID, Outcome: Failed, Why: code(err), Err: err}, nil
	}
	if err := j.intend(result); err != nil {
		return Result{}, err
	}
	ended, err := s.commit(ctx, db, tx, c, result)
	if err != nil {
		unknown := Result{ID: c.ID, Outcome: Unknown, Why: WhyNoAnswer, Transaction: result.Transaction}
		return Result{}, errors.Join(err, j.decide(unknown))
	}
	return ended, nil
}

// askLimit bounds how long the database is asked what became of a commit that had no answer: whoever has just
// lost a connection may wait for the next one without end.
const askLimit = 5 * time.Second

// commit ends the transaction, also when ctx has ended: what was begun gets its line. An answer that
// did not come is asked for. After an error nobody knows.
func (s *Sweep) commit(ctx context.Context, db hold.Beginner, tx pgx.Tx, c Candidate, intended Result) (Result, error) {
	err := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Wait)
		defer cancel()
		return tx.Commit(ctx)
	}()
	if err == nil {
		return intended, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	result, askErr := s.ended(ctx, db, c, intended)
	if askErr != nil {
		return Result{}, unanswered(intended, askErr)
	}
	if result.Outcome == "" {
		result = Result{ID: intended.ID, Outcome: Failed, Why: code(err), Err: err}
	}
	return result, nil
}

// undo returns what is to be committed. Without a transaction in it there is nothing to commit.
func (s *Sweep) undo(ctx context.Context, tx pgx.Tx, c Candidate, by Order) (Result, error) {
	if _, err := tx.Exec(ctx, s.bounds, strconv.FormatInt(s.cfg.Wait.Milliseconds(), 10)); err != nil {
		return Result{}, err
	}
	if err := s.cfg.Undo.Lock(ctx, tx, c); err != nil {
		return Result{}, fmt.Errorf("lock: %w", err)
	}
	// Each in a statement of its own: they see what was committed before the lock was had.
	outcome, why, err := s.judge(ctx, tx, c)
	if err != nil {
		return Result{}, err
	}
	if outcome != "" {
		at, err := s.ask(ctx, tx)
		return Result{ID: c.ID, Outcome: outcome, Why: why, At: at.now}, err
	}
	fate, err := s.cfg.Undo.Undo(ctx, tx, c, by)
	if err != nil {
		return Result{}, fmt.Errorf("undo: %w", err)
	}
	result, err := resultOf(c, fate)
	if err != nil {
		return Result{}, err
	}
	if result.Outcome == Undone {
		left, err := s.find(ctx, tx, c.ID)
		if err != nil {
			return Result{}, err
		}
		if left != nil {
			return Result{}, ErrStillCandidate
		}
	}
	err = tx.QueryRow(ctx, s.transaction).Scan(&result.Transaction, &result.At)
	result.At = result.At.UTC()
	return result, err
}

// judge says what speaks against acting on a candidate: "" when nothing does.
func (s *Sweep) judge(ctx context.Context, db hold.DB, c Candidate) (Outcome, string, error) {
	found, err := s.find(ctx, db, c.ID)
	if err != nil {
		return "", "", err
	}
	entities := c.Entities
	if found != nil {
		entities = append(entities[:len(entities):len(entities)], found.Entities...)
	}
	covered, err := s.isCovered(ctx, db, entities)
	if err != nil {
		return "", "", err
	}
	switch {
	case len(covered) > 0:
		return Skipped, WhyReceipt, nil
	case found == nil:
		return Skipped, WhyGone, nil
	case !found.same(c):
		return Skipped, WhyChanged, nil
	case !found.marked:
		return Quarantined, WhyNoMark, nil
	}
	return "", "", nil
}

// plainCode is what a service may say of an entity that it left intact: nothing personal looks like it.
var plainCode = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

func resultOf(c Candidate, fate hold.Fate) (Result, error) {
	result := Result{ID: c.ID, Outcome: Outcome(fate.Outcome()), Why: fate.Reason()}
	switch {
	case result.Outcome != Undone && result.Outcome != Quarantined:
		return Result{}, call.Invalid("outcome", "must be undone or quarantined", "Return hold.Undone(), hold.Quarantine(reason) or an error.")
	case result.Outcome == Quarantined && !plainCode.MatchString(result.Why):
		return Result{}, call.Invalid("reason", "must be a code of lower-case letters, digits and dashes", "Say why it was left intact without a word about whom: it is shown.")
	}
	return result, nil
}

const rollbackLimit = 5 * time.Second

// rollback ends a transaction that was not committed, also when ctx has ended.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	_ = tx.Rollback(ctx) // reports only that the transaction is over, or its connection
}
