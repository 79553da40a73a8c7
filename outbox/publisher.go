package outbox

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.opentelemetry.io/otel/propagation"
)

// Publisher stages events into the outbox of one database schema. It holds no
// connection and no state, and is safe for concurrent use.
type Publisher struct {
	schema        string
	source        string
	maxEventBytes int
	propagator    propagation.TextMapPropagator

	// The statements for this schema.
	publish, publishHeld         string // pgx
	publishText, publishHeldText string // database/sql
}

// standard is the publisher of the package functions. Never changed.
var standard = newPublisher(Config{}.withDefaults())

// New returns a publisher for a configuration other than the default. The error says
// which fields are out of bounds.
func New(config Config) (*Publisher, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("configure publisher: %w", err)
	}
	return newPublisher(config), nil
}

func newPublisher(c Config) *Publisher {
	return &Publisher{
		schema: c.Schema, source: c.Source, maxEventBytes: c.MaxEventBytes, propagator: c.Propagator,
		publish: in(c.Schema, publishEventsSQL) + notify(c.NotifyChannel), publishHeld: in(c.Schema, publishEventsHeldSQL),
		publishText: in(c.Schema, publishEventsTextSQL) + notify(c.NotifyChannel), publishHeldText: in(c.Schema, publishEventsHeldTextSQL),
	}
}

// PublishTx calls [Publisher.PublishTx] with the default configuration.
func PublishTx(ctx context.Context, tx PgxTx, events ...event.Event) ([]string, error) {
	return standard.PublishTx(ctx, tx, events...)
}

// PublishTxHeld calls [Publisher.PublishTxHeld] with the default configuration.
func PublishTxHeld(ctx context.Context, tx PgxTx, hold Hold, events ...event.Event) ([]string, error) {
	return standard.PublishTxHeld(ctx, tx, hold, events...)
}

// PublishSQLTx calls [Publisher.PublishSQLTx] with the default configuration.
func PublishSQLTx(ctx context.Context, tx SQLTx, events ...event.Event) ([]string, error) {
	return standard.PublishSQLTx(ctx, tx, events...)
}

// PublishSQLTxHeld calls [Publisher.PublishSQLTxHeld] with the default configuration.
func PublishSQLTxHeld(ctx context.Context, tx SQLTx, hold Hold, events ...event.Event) ([]string, error) {
	return standard.PublishSQLTxHeld(ctx, tx, hold, events...)
}

// PublishTx stages the events in the caller's transaction, in one round trip, and
// returns their ids in the order of the arguments, which is also the order of their
// positions. They leave the outbox if and when the transaction commits. The events
// themselves are not changed. No events means no round trip.
//
// Errors:
//   - [*InvalidEventError], one for each fault, joined: nothing was sent, and the
//     transaction can go on. With an Index of -1 it comes from the database.
//   - [ErrNotTransaction]: nothing was sent.
//   - [ErrSchemaMissing], or an error for which [Retryable] is true, or whatever else
//     the database says: as after any failed statement, the transaction has to be
//     rolled back.
//
// What a person can do about an error, [Hint] says.
func (p *Publisher) PublishTx(ctx context.Context, tx PgxTx, events ...event.Event) ([]string, error) {
	return p.stage(ctx, pgxTarget{tx}, nil, events)
}

// PublishTxHeld stages the events like [Publisher.PublishTx], but held: they have no
// position in the log, and leave the outbox only if their generation is released. It
// first passes the gate of the generation, also when there are no events, and keeps it
// locked in share mode until the transaction ends, so that a release or a cancel waits
// for it.
//
// Besides the errors of PublishTx there are [*HoldRefusedError], when the generation is
// unknown, cancelled, released or superseded, and [*InvalidArgumentError] for a Hold that
// names no generation, for which nothing was sent.
func (p *Publisher) PublishTxHeld(ctx context.Context, tx PgxTx, hold Hold, events ...event.Event) ([]string, error) {
	return p.stage(ctx, pgxTarget{tx}, &hold, events)
}

// PublishSQLTx is [Publisher.PublishTx] for transactions of database/sql and of what is
// built on it.
func (p *Publisher) PublishSQLTx(ctx context.Context, tx SQLTx, events ...event.Event) ([]string, error) {
	return p.stage(ctx, sqlTarget{tx}, nil, events)
}

// PublishSQLTxHeld is [Publisher.PublishTxHeld] for transactions of database/sql and of
// what is built on it.
func (p *Publisher) PublishSQLTxHeld(ctx context.Context, tx SQLTx, hold Hold, events ...event.Event) ([]string, error) {
	return p.stage(ctx, sqlTarget{tx}, &hold, events)
}

// stage is the one way into the outbox. Everything that can be refused without the
// database is refused before anything is sent.
func (p *Publisher) stage(ctx context.Context, to target, hold *Hold, events []event.Event) ([]string, error) {
	if err := checkTransaction(to.transaction()); err != nil {
		return nil, fmt.Errorf("publish events: %w", err)
	}
	if hold != nil {
		if err := hold.validate(); err != nil {
			return nil, fmt.Errorf("publish held events: %w", err)
		}
	}
	records, err := p.records(ctx, events)
	if err != nil {
		return nil, fmt.Errorf("publish events: %w", err)
	}
	if len(records) == 0 && hold == nil {
		return nil, nil
	}
	if err := to.exec(ctx, p, hold, columnsOf(records)); err != nil {
		return nil, fmt.Errorf("publish events: %w", explain(err, hold, len(records)))
	}
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	return ids, nil
}
