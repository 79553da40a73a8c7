package outboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Querier is what reading needs: a pool, a connection, or a transaction, which
// also sees what it has staged itself.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// StagedEvent is an event in the outbox.
type StagedEvent struct {
	outbox.Record
	Held       bool   // it waits for the release of its operation
	Operation  string // the operation that it was held under, also after the release; else empty
	Generation int    // the generation, with Operation; else 0
}

// Staged returns the events in the outbox of the default schema, in staging
// order, or in the order of their release. Published events are among them until
// retention removes them.
func Staged(t testing.TB, db Querier) []StagedEvent {
	t.Helper()
	rows, err := db.Query(t.Context(), stagedSQL)
	if err != nil {
		t.Fatalf("outboxtest: read staged events: %v", err)
	}
	events, err := pgx.CollectRows(rows, scanStaged)
	if err != nil {
		t.Fatalf("outboxtest: read staged events: %v", err)
	}
	return events
}

// An attribute that is absent is null in the table and empty in a Record.
const stagedSQL = `
select event_id, source, type, coalesce(subject, ''), time, coalesce(datacontenttype, ''),
       coalesce(dataschema, ''), coalesce(partition_key, ''),
       convert_to(nullif(extensions, '{}')::text, 'UTF8'), data,
       tx is null, coalesce(hold_operation_id::text, ''), coalesce(hold_generation, 0)
from outbox.event_outbox
order by seq`

func scanStaged(row pgx.CollectableRow) (StagedEvent, error) {
	var e StagedEvent
	var at *time.Time
	err := row.Scan(&e.ID, &e.Source, &e.Type, &e.Subject, &at, &e.DataContentType,
		&e.DataSchema, &e.PartitionKey, &e.Extensions, &e.Data, &e.Held, &e.Operation, &e.Generation)
	if at != nil {
		e.Time = at.UTC()
	}
	return e, err
}
