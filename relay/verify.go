package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
)

// CopiedError says that the rows of a database come from another cluster although its schema was
// installed in this one, as a logical copy leaves it. It matches [outbox.ErrForeignCluster].
type CopiedError struct{ Schema string }

func (e *CopiedError) Error() string {
	return fmt.Sprintf("verify schema %s: transaction ids are stored that this cluster has not given out yet: the rows were copied from another one", e.Schema)
}

// Is reports whether target is [outbox.ErrForeignCluster].
func (e *CopiedError) Is(target error) bool { return target == outbox.ErrForeignCluster }

// Hint says what a person can do.
func (e *CopiedError) Hint() string {
	return "Run `relay rebase`, which gives what was copied a place in this cluster: see its --dry-run first."
}

// verify checks that the database is one that this build may drain: the schema version it
// knows, in the cluster in which the stored transaction ids mean something. The error
// of a database that is not is an [*outbox.SchemaError] or a [*CopiedError], which have hints.
func verify(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	found, err := outbox.ReadSchema(ctx, pool, schema)
	if err == nil {
		err = found.Check("outbox", "relay")
	}
	if err == nil {
		err = VerifyIDs(ctx, pool, schema)
	}
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	return nil
}

// VerifyIDs returns a [*CopiedError] when transaction ids are stored that the cluster has not given
// out yet. A relay would compare them with its own and skip events, or publish them again. It
// reads little, whatever is in the log.
func VerifyIDs(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	d := &database{pool: pool, sql: newStatements(schema)}
	var future bool
	_, err := d.with(ctx, d.sql.session, d.sql.future, nil, func(rows pgx.Rows) error { return rows.Scan(&future) })
	if err != nil {
		return fmt.Errorf("verify transaction ids: %w", err)
	}
	if future {
		return &CopiedError{Schema: schema}
	}
	return nil
}

// refusal reports whether err says that the database is not one to drain.
func refusal(err error) bool {
	return errors.Is(err, outbox.ErrSchemaMissing) || errors.Is(err, outbox.ErrSchemaMismatch) || errors.Is(err, outbox.ErrForeignCluster)
}
