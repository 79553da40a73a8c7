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
// this order and in one trip: no transaction commits whose last statement came after the pause. It says what is wrong.
func (a *Applier) conclude(ctx context.Context, tx pgx.Tx, claims []facts.Claimed, w way, events []event.Event) error {
	audit := w != unaudited
	found := make([]Evidence, len(claims))
	batch := &pgx.Batch{}
	var err error
	if a.proofs.own != nil {
		err = a.proofs.ask(ctx, tx, claims, found)
	} else {
		err = a.queueProofs(batch, claims, found)
	}
	if err != nil && Classify(err) == Again {
		return err
	}
	if err != nil {
		return unprovable(err)
	}
	proofs := batch.Len()
	var paused bool
	if audit {
		a.receive(batch, events)
	}
	audited := batch.Len()
	batch.Queue(a.sql.paused, a.cfg.Group).QueryRow(func(row pgx.Row) error { return row.Scan(&paused) })
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

// queueProofs queues the default proof.
func (a *Applier) queueProofs(batch *pgx.Batch, claims []facts.Claimed, found []Evidence) error {
	questions, err := a.proofs.questions(claims)
	for _, q := range questions {
		q.queueRead(batch, found)
	}
	return err
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

// receive queues the rows of the inbox.
func (a *Applier) receive(batch *pgx.Batch, events []event.Event) {
	if len(events) == 1 {
		batch.Queue(a.sql.received, a.cfg.Name, events[0].Source(), events[0].ID())
		return
	}
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

// commitAndProve commits, and proves the effects as everybody sees them then.
func (a *Applier) commitAndProve(ctx context.Context, tx pgx.Tx, claims []facts.Claimed) error {
	if a.proofs.own == nil {
		questions, err := a.proofs.questions(claims)
		if err != nil {
			return err
		}
		committed, found, err := sendCommit(ctx, tx, &pgx.Batch{}, questions, len(claims))
		return concluded(committed, claims, found, err)
	}
	if err := commitError(tx.Commit(ctx)); err != nil {
		return err
	}
	found := make([]Evidence, len(claims))
	if err := a.proofs.ask(ctx, tx.Conn(), claims, found); err != nil {
		return &committedError{unprovable(err)}
	}
	return concluded(true, claims, found, nil)
}

// sendCommit sends a batch, and behind it the commit and the default proof. Each is executed only if all before it
// succeeded, and the proof has a snapshot of its own.
func sendCommit(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, questions []question, claims int) (committed bool, found []Evidence, err error) {
	found = make([]Evidence, claims)
	batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	for _, q := range questions {
		q.queueRead(batch, found)
	}
	err = tx.Conn().SendBatch(ctx, batch).Close()
	return committed, found, err
}

// concluded judges what became of a commit and of the proof after it.
func concluded(committed bool, claims []facts.Claimed, found []Evidence, err error) error {
	switch {
	case err != nil && !committed:
		return commitError(err)
	case !committed:
		return commitError(pgx.ErrTxCommitRollback)
	case err != nil:
		return &committedError{Unavailable(fmt.Errorf("prove: %w", err))}
	}
	if err := judge(claims, found); err != nil {
		return &committedError{err}
	}
	return nil
}

// commitError tells a refusal, after which nothing was written, from a loss of the answer.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback), refused(err):
		return fmt.Errorf("commit: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownCommit, err)
}
