package harness_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func TestCreateDatabaseFromTemplate(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	create := func(name, template string) {
		t.Helper()
		if err := pg.CreateDatabase(t.Context(), name, template); err != nil {
			t.Fatal(err)
		}
	}
	create("mould", "")
	runSQL(t, pg, "mould", "create table item (id int)", "insert into item values (1)")

	var all sync.WaitGroup
	for i := range 4 { // at once: the harness puts them in a row
		all.Go(func() {
			if err := pg.CreateDatabase(t.Context(), fmt.Sprintf("cast %d", i), "mould"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	runSQL(t, pg, "cast 0", "insert into item values (2)")
	for database, want := range map[string]string{"cast 0": "2", "cast 1": "1", "mould": "1"} {
		if got := query(t, pg, database, "select count(*)::text from item"); got != want {
			t.Errorf("%s has %s items, want %s", database, got, want)
		}
	}
	if err := pg.CreateDatabase(t.Context(), "cast 0", "mould"); sqlstate(err) != "42P04" {
		t.Errorf("a second database of the same name: %v", err)
	}
	create("empty", "")
	if got := query(t, pg, "empty", "select count(*)::text from pg_tables where tablename = 'item'"); got != "0" {
		t.Error("a database without a template has a table")
	}
}

func TestCreateDatabaseWaitsForUsersOfTheTemplate(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	if err := pg.CreateDatabase(t.Context(), "mould", ""); err != nil {
		t.Fatal(err)
	}
	user := connect(t, pg, "mould")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := pg.CreateDatabase(ctx, "given up", "mould"); err == nil {
		t.Fatal("a template that is in use was copied")
	}
	created := make(chan error, 1)
	go func() { created <- pg.CreateDatabase(t.Context(), "cast", "mould") }()
	if err := user.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-created; err != nil {
		t.Fatal(err)
	}
}

func TestDropDatabaseDisconnectsItsUsers(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	if err := pg.CreateDatabase(t.Context(), "gone", ""); err != nil {
		t.Fatal(err)
	}
	user := connect(t, pg, "gone")
	for range 2 {
		if err := pg.DropDatabase(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
	}
	if err := user.Ping(t.Context()); err == nil {
		t.Error("a connection outlived its database")
	}
}

func TestDurableClusterCopiesDatabases(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{Durable: true})
	if err := pg.CreateDatabase(t.Context(), "mould", ""); err != nil {
		t.Fatal(err)
	}
	runSQL(t, pg, "mould", "create table item ()")
	if err := pg.CreateDatabase(t.Context(), "cast", "mould"); err != nil {
		t.Fatal(err)
	}
	query(t, pg, "cast", "select count(*)::text from item")
}
