package consumers

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// conclude proves the effects in the transaction, writes the inbox, and reads the switch with the last statement, in
// this order and in one trip: no transaction commits whose last statement came after the pause.
func (a *Applier) conclude(ctx context.Context, tx pgx.Tx, claims []facts.Claimed, audit bool, events []event.Event) error {
	found := make([]Evidence, len(claims))
	batch := &pgx.Batch{}
	var err error
	if a.proofs.own != nil {
		err = a.proofs.ask(ctx, tx, claims, found)
	} else {
		err = a.proofs.queue(batch, claims, found)
	}
	if err != nil && Classify(err) == Again {
		return err
	}
	if err != nil {
		return unprovable(err)
	}
	proofs := batch.Len()
	var paused bool
	readPaused := func(row pgx.Row) error { return row.Scan(&paused) }
	audited := proofs
	if audit {
		audited++
	}
	switch {
	case audit && len(events) == 1:
		batch.Queue(a.sql.received, a.cfg.Name, events[0].Source(), events[0].ID(), a.cfg.Group).QueryRow(readPaused)
	case audit:
		a.receiveAll(batch, events)
		fallthrough
	default:
		batch.Queue(a.sql.paused, a.cfg.Group).QueryRow(readPaused)
	}
	answered, err := send(ctx, tx, batch)
	switch {
	case err != nil && answered < proofs && Classify(err) == Again:
		return err
	case err != nil && answered < proofs:
		return Unavailable(fmt.Errorf("prove: %w", err))
	}
	if wrong := judge(claims, found); wrong != nil {
		return wrong
	}
	switch {
	case err != nil && answered < audited:
		if sqlState(err) != "" && Classify(err) == Failed || sqlState(err) == "42501" {
			return &auditError{err}
		}
		return fmt.Errorf("write inbox: %w", err)
	case err != nil:
		return fmt.Errorf("read the switch: %w", err)
	case paused:
		return ErrPaused
	}
	return nil
}

// send sends a batch and says how many of its statements were answered before the first error.
func send(ctx context.Context, tx pgx.Tx, batch *pgx.Batch) (answered int, err error) {
	for _, q := range batch.QueuedQueries {
		read := q.Fn
		q.Fn = func(results pgx.BatchResults) (err error) {
			if read != nil {
				err = read(results)
			} else {
				_, err = results.Exec()
			}
			if err == nil {
				answered++
			}
			return err
		}
	}
	err = tx.SendBatch(ctx, batch).Close()
	return answered, err
}

// receiveAll queues the rows of the inbox.
func (a *Applier) receiveAll(batch *pgx.Batch, events []event.Event) {
	sources, ids := make([]string, len(events)), make([]string, len(events))
	for i, e := range events {
		sources[i], ids[i] = e.Source(), e.ID()
	}
	batch.Queue(a.sql.receivedAll, a.cfg.Name, sources, ids)
}

// judge demands exactly one effect for each fact.
func judge(claims []facts.Claimed, found []Evidence) error {
	for i, c := range claims {
		if found[i] != (Evidence{Effects: 1, Matching: 1}) {
			return &ProofError{FactID: c.ID, FactType: c.Type, Found: found[i]}
		}
	}
	return nil
}

// unprovable is an error of a proof that could not be read: nothing is known of the event.
func unprovable(err error) error {
	if errors.As(err, new(*ProofError)) || errors.As(err, new(*PanicError)) {
		return err
	}
	return Unavailable(err)
}

// committedError is about an effect that could not be proven, or is not there, after the commit.
type committedError struct{ err error }

func (e *committedError) Error() string { return "after the commit: " + e.err.Error() }
func (e *committedError) Unwrap() error { return e.err }

// commitAndProve commits, and proves the effects as everybody sees them then. The default proof travels with
// the commit: its statements run after it, with snapshots of their own, and only when it succeeded.
func (a *Applier) commitAndProve(ctx context.Context, tx pgx.Tx, claims []facts.Claimed) error {
	found := make([]Evidence, len(claims))
	if a.proofs.own != nil {
		if err := commitError(tx.Commit(ctx)); err != nil {
			return err
		}
		if err := a.proofs.ask(ctx, tx.Conn(), claims, found); err != nil {
			return &committedError{unprovable(err)}
		}
	} else {
		batch, committed := &pgx.Batch{}, false
		batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
			committed = tag.String() == "COMMIT"
			return nil
		})
		if err := a.proofs.queue(batch, claims, found); err != nil {
			return err
		}
		err := tx.Conn().SendBatch(ctx, batch).Close()
		switch {
		case err != nil && !committed:
			return commitError(err)
		case !committed:
			return commitError(pgx.ErrTxCommitRollback)
		case err != nil:
			return &committedError{Unavailable(fmt.Errorf("prove: %w", err))}
		}
	}
	if err := judge(claims, found); err != nil {
		return &committedError{err}
	}
	return nil
}

// commitError tells a refusal, after which nothing was written, from a loss of the answer.
func commitError(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.As(err, &pg) && classifyState(pg.Code) != Outage:
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownCommit, err)
}
