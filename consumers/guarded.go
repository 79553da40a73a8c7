package consumers

import (
	"context"
	"errors"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers/facts"
)

// way is how a transaction is concluded. Each proves, writes the inbox, reads the switch, commits and proves again, in
// this order.
type way int

const (
	guarded   way = iota // in one trip: what is before the commit fails when anything is wrong, and it is not executed
	careful              // in two, the first of which says what is wrong
	unaudited            // as carefully, but without the inbox, which the database refuses
)

// guards reports whether commits may be guarded. A proof of the service's own needs an answer before the commit. And
// where the values of a statement are in its text, the database logs them with every error.
func guards(pool *pgxpool.Pool, cfg Config) bool {
	return cfg.Proof == nil && pool.Config().ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol
}

// unclearError is about a guarded commit that was refused, so that nothing was written, or that had no answer in its
// time, so that nobody knows. The careful way finds out, in a time of its own.
type unclearError struct{ err error }

func (e *unclearError) Error() string { return "conclude: " + e.err.Error() }
func (e *unclearError) Unwrap() error { return e.err }

// commitGuarded concludes a transaction in one trip.
func (a *Applier) commitGuarded(ctx context.Context, tx pgx.Tx, questions []question, claims []facts.Claimed, events []event.Event) error {
	batch := &pgx.Batch{}
	for _, q := range questions {
		q.queueGuard(batch)
	}
	a.receive(batch, events)
	batch.Queue(a.sql.pausedGuard, a.cfg.Group)
	committed, found, err := sendCommit(ctx, tx, batch, questions, len(claims))
	if !committed && refused(err) {
		return &unclearError{err}
	}
	return concluded(committed, claims, found, err)
}

// refused reports whether the database answered a statement with an error and lives: neither it nor what came behind it
// in the same trip was executed.
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
