package consumers

import (
	"context"
	"errors"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// way is how a transaction is concluded. Each proves, writes the inbox, reads the switch, commits and proves again, in
// this order.
type way int

const (
	guarded   way = iota // in one trip: what is before the commit fails when anything is wrong, and it is not executed
	careful              // in two, the first of which says what is wrong
	unaudited            // so, without the inbox, which the database refuses
)

// refusedError says that a guarded commit was not executed, or refused: nothing was written. The careful way finds out why.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return "conclude: " + e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// commitGuarded concludes a transaction in one trip. It cannot be used with a proof of the service's own, which needs an
// answer before the commit.
func (a *Applier) commitGuarded(ctx context.Context, tx pgx.Tx, claims []facts.Claimed, events []event.Event) error {
	questions, err := a.proofs.questions(claims)
	if err != nil {
		return &refusedError{err}
	}
	batch := &pgx.Batch{}
	for _, q := range questions {
		q.queueGuard(batch)
	}
	if len(events) == 1 {
		batch.Queue(a.sql.receivedGuard, a.cfg.Name, events[0].Source(), events[0].ID(), a.cfg.Group)
	} else {
		a.receiveAll(batch, events)
		batch.Queue(a.sql.pausedGuard, a.cfg.Group)
	}
	committed, found, err := sendCommit(ctx, tx, batch, questions, len(claims))
	if !committed && refused(err) {
		return &refusedError{err}
	}
	return concluded(committed, claims, found, err)
}

// refused reports whether the database answered a statement with an error and lives: what came behind it in the same
// trip, such as the commit, was not executed.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR"
}

// outliving ends one settle timeout after ctx, because the outcome of a commit must be asked for also when the
// handler was cut.
func (a *Applier) outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(a.cfg.SettleTimeout, cancel) })
	return late, func() {
		stop()
		cancel()
	}
}
