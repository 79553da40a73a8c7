package outboxtest

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

const poolConns = 16 // enough for a test with many transactions at once

// Database is a private database of one test.
type Database struct {
	URL  string        // connection string, as superuser
	Pool *pgxpool.Pool // up to 16 connections; closed when the test ends
	Name string

	pg *harness.Postgres
}

var databases atomic.Int64 // how many names were given out

// NewDatabase returns a new database in the shared cluster, with the components
// outbox, hold, relay, consumer and saga installed. It needs Main.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	pg := Cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), setupLimit)
	defer cancel()
	template, err := shared.templateOf(ctx)
	if err != nil {
		t.Fatalf("outboxtest: make the template database: %v", err)
	}
	return newShared(ctx, t, pg, template)
}

// NewEmptyDatabase returns a new database in the shared cluster without
// anything installed. It needs Main.
func NewEmptyDatabase(t testing.TB) *Database {
	t.Helper()
	pg := Cluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), setupLimit)
	defer cancel()
	return newShared(ctx, t, pg, "")
}

// NewDatabaseIn returns a new database in a cluster of the test's own, with the
// components outbox, hold, relay, consumer and saga installed. The cluster takes it along when
// it is closed, and may be stopped before that.
func NewDatabaseIn(t testing.TB, pg *harness.Postgres) *Database {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), setupLimit)
	defer cancel()
	name := nextName()
	if err := makeDatabase(ctx, pg, name); err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	return open(t, pg, name)
}

// newShared makes a database that is dropped when the test ends.
func newShared(ctx context.Context, t testing.TB, pg *harness.Postgres, template string) *Database {
	t.Helper()
	name := nextName()
	if err := pg.CreateDatabase(ctx, name, template); err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
		defer cancel()
		if err := pg.DropDatabase(ctx, name); err != nil {
			t.Errorf("outboxtest: %v", err)
		}
	})
	return open(t, pg, name)
}

// open opens the pool and closes it when the test ends.
func open(t testing.TB, pg *harness.Postgres, name string) *Database {
	t.Helper()
	db := &Database{URL: pg.URL(name), Name: name, pg: pg}
	t.Cleanup(func() { // after the pool
		if t.Failed() {
			t.Logf("outboxtest: what the server logged about %s:\n%s", name, db.ServerLog(t))
		}
	})
	db.Pool = NewPool(t, db.URL, func(c *pgxpool.Config) { c.MaxConns = poolConns })
	return db
}

// entry is the beginning of an entry of the server's log.
var entry = regexp.MustCompile(`^\S+ \S+ \S+ \[\d+\] sqlstate=\S* db=(\S*) `)

// ServerLog returns what the server logged about this database: every statement
// that failed, with "sqlstate=" before its code. Tests use it to assert that an
// error never happened, also none that the code under test caught.
func (db *Database) ServerLog(t testing.TB) string {
	t.Helper()
	log, err := db.pg.Log()
	if err != nil {
		t.Fatalf("outboxtest: read the server's log: %v", err)
	}
	var ours strings.Builder
	about := false
	for line := range strings.Lines(log) {
		if match := entry.FindStringSubmatch(line); match != nil {
			about = match[1] == db.Name
		}
		if about {
			ours.WriteString(line)
		}
	}
	return ours.String()
}

func nextName() string {
	return fmt.Sprintf("hf_%d_%d", os.Getpid(), databases.Add(1))
}
