package outboxtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// closeLimit bounds the wait for connections that are still in use at the end of a test.
const closeLimit = 10 * time.Second

// NewPool opens a pool on a database and closes it when the test ends, when every connection
// must have been given back: one that is not fails the test within ten seconds, instead of hanging
// it. Each change is applied to the configuration first, for example to connect as another
// role or in another mode of pgx.
func NewPool(t testing.TB, url string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	for _, f := range change {
		f(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool, closeLimit) })
	return pool
}

// closePool closes the pool, which waits for connections in use. One that is
// never released would hang the test without a word.
func closePool(t testing.TB, pool *pgxpool.Pool, limit time.Duration) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(limit):
		t.Errorf("outboxtest: %d connections are still in use at the end of the test; "+
			"hint: commit or roll back every transaction, close all rows, release what was acquired",
			pool.Stat().AcquiredConns())
	}
}
