package outbox_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestInsertByADriver: a program that inserts itself passes the values of its language. The parameters
// have the types of the columns, which every driver knows, in every protocol mode of pgx.
func TestInsertByADriver(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	const insert = `INSERT INTO outbox.event_outbox
		(event_id, source, type, subject, "time", datacontenttype, dataschema, partition_key, extensions, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	when := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	} {
		pool := outboxtest.NewPool(t, db.URL, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
		_, err := pool.Exec(t.Context(), insert, mode.String(), "/orders", "order.placed", "order-1", when, "application/json", "urn:x", "order-1",
			map[string]any{"tenant": "a"}, []byte(`{"a":1}`))
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		var stored time.Time
		var tenant, data string
		err = db.Pool.QueryRow(t.Context(), `SELECT "time", extensions ->> 'tenant', convert_from(data, 'UTF8')
			FROM outbox.event_outbox WHERE event_id = $1`, mode.String()).Scan(&stored, &tenant, &data)
		if err != nil || !stored.Equal(when) || tenant != "a" || data != `{"a":1}` {
			t.Errorf("%s: stored %s %s %s, %v", mode, stored, tenant, data, err)
		}
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} { // here pgx takes the type from the value
		pool := outboxtest.NewPool(t, db.URL, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
		if _, err := pool.Exec(t.Context(), insert, mode.String(), "/orders", "order.placed", nil, when, nil, nil, nil, `{"tenant":"a"}`, []byte("x")); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
