package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
)

// verify checks that the database is one that this build may drain: the schema version it
// knows, in the cluster in which the stored transaction ids mean something. The error
// of a database that is not is an [*outbox.SchemaError], which has a hint.
func verify(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	found, err := outbox.ReadSchema(ctx, pool, schema)
	if err == nil {
		err = found.Check("outbox", "relay")
	}
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	return nil
}

// refusal reports whether err says that the database is not one to drain.
func refusal(err error) bool {
	return errors.Is(err, outbox.ErrSchemaMissing) || errors.Is(err, outbox.ErrSchemaMismatch) || errors.Is(err, outbox.ErrForeignCluster)
}
