package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Route says where an outcome took an event.
type Route string

// The routes.
const (
	Done           Route = "done"            // the event waits no longer
	RetryScheduled Route = "retry_scheduled" // it will be tried again
	DeadLettered   Route = "dead_lettered"   // it was given up
)

// Result is what Record did. NextVisible is set for RetryScheduled.
type Result struct {
	Route       Route
	Attempts    int32
	NextVisible time.Time
}

// Record settles a claim with an outcome. Repeating the same terminal outcome gets the same
// Result; another one, a claim that does not hold, or a constraint of the database that
// forbids what it asks for, is [ErrConflict]. A reason, a sequence or a counter out of bounds is
// an [*InvalidError]. After either nothing is changed. Any other error says nothing about
// what happened: repeat the call.
func (s *Store) Record(ctx context.Context, c Claim, o Outcome) (Result, error) {
	if err := o.validate(); err != nil {
		return Result{}, err
	}
	d, err := classify(s.policy, c.Attempts, o)
	if err != nil {
		return Result{}, err
	}
	var result Result
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		held, err := s.write(ctx, tx, c, o, d, &result)
		if err != nil || held {
			return err
		}
		return s.replayed(ctx, tx, c, o, d, &result)
	})
	if contradicts(err) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return Result{}, fmt.Errorf("record the outcome of event %s: %w", c.EventID, err)
	}
	return result, nil
}

// contradicts reports an error that says that the outcome does not go with what is stored: the
// event became a dead letter in the meantime, or a constraint forbids the row. By code, never
// by text.
func contradicts(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "HF020" || strings.HasPrefix(pg.Code, "23"))
}

// write does what was decided, if the claim holds.
func (s *Store) write(ctx context.Context, tx pgx.Tx, c Claim, o Outcome, d decision, result *Result) (held bool, err error) {
	switch d.kind {
	case remove:
		*result = Result{Route: Done, Attempts: d.attempts}
		return s.remove(ctx, tx, c, o)
	case retryLater:
		*result = Result{Route: RetryScheduled, Attempts: d.attempts}
		args := append(c.tuple(), d.attempts, d.backoff, string(o.reason.Code), o.reason.Digest())
		err = tx.QueryRow(ctx, s.sql["retry_later"], args...).Scan(&result.NextVisible)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	default:
		*result = Result{Route: DeadLettered, Attempts: d.attempts}
		return s.bury(ctx, tx, c, o, d)
	}
}

func (s *Store) remove(ctx context.Context, tx pgx.Tx, c Claim, o Outcome) (held bool, err error) {
	var lane int16
	var key string
	err = tx.QueryRow(ctx, s.sql["accept"], append(c.tuple(), int64(o.seq), o.stream)...).Scan(&lane, &key)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.left(ctx, tx, lane, c.Seq, key, true)
}

// bury moves the event to the dead letters. The row leaves one set before it enters the
// other, in one transaction, so that the triggers see one fate at any time.
func (s *Store) bury(ctx context.Context, tx pgx.Tx, c Claim, o Outcome, d decision) (held bool, err error) {
	var group, key string
	var lane int16
	var seq int64
	var epoch int32
	err = tx.QueryRow(ctx, s.sql["take_out"], c.tuple()...).Scan(&group, &lane, &seq, &epoch, &key)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var id int64
	err = tx.QueryRow(ctx, s.sql["bury"], group, lane, seq, d.attempts, epoch,
		string(o.reason.Code), o.reason.Digest(), c.Owner).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, ErrNotFound
	}
	if err != nil {
		return false, err
	}
	return true, s.left(ctx, tx, lane, seq, key, !s.blocks)
}

// left cleans up after a row that left the waiting set, and makes the next one of its key due.
func (s *Store) left(ctx context.Context, tx pgx.Tx, lane int16, seq int64, key string, promote bool) error {
	if _, err := tx.Exec(ctx, s.sql["forget_copy"], s.group, lane, seq); err != nil {
		return err
	}
	if key == "" || !promote {
		return nil
	}
	_, err := tx.Exec(ctx, s.sql["promote"], s.group, lane, key)
	return err
}

// replayed decides what a claim that does not hold means: the repetition of a terminal
// outcome, which gets its answer again, or a conflict.
func (s *Store) replayed(ctx context.Context, tx pgx.Tx, c Claim, o Outcome, d decision, result *Result) error {
	var waiting bool
	var attempts, epoch *int32
	var code *string
	var digest []byte
	err := tx.QueryRow(ctx, s.sql["end_of"], s.group, c.Lane, c.Seq).Scan(&waiting, &attempts, &epoch, &code, &digest)
	if err != nil {
		return err
	}
	dead := attempts != nil
	same := dead && d.kind == deadLetter && *attempts == d.attempts && *epoch == c.Epoch &&
		*code == string(o.reason.Code) && bytes.Equal(digest, o.reason.Digest())
	if same || (!dead && !waiting && d.kind == remove) {
		return nil // result is what the first call said
	}
	return ErrConflict
}
