package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// newEvent returns a valid event with an id.
func newEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/test")
	e.SetType("test.happened")
	return e
}

// poolWith opens a pool in a mode of pgx and closes it when the test ends.
func poolWith(t testing.TB, url string, mode pgx.QueryExecMode) *pgxpool.Pool {
	t.Helper()
	pool := outboxtest.NewPool(t, url, func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = mode
		c.MaxConns = 4
	})
	return pool
}

func closeHandle(t testing.TB, handle *sql.DB) {
	if err := handle.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// rollback ends a transaction on a context that outlives the test's.
func rollback(t testing.TB, end func(context.Context) error) {
	t.Helper()
	err := end(context.Background())
	if err != nil && !errors.Is(err, pgx.ErrTxClosed) && !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("roll back: %v", err)
	}
}
