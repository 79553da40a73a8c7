package outboxtest_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const insertOne = "insert into outbox.event_outbox (event_id, source, type) values ('1', '/test', 'one')"

func execSQL(t *testing.T, db *outboxtest.Database, statement string, args ...any) {
	t.Helper()
	outboxtest.Exec(t, db.Pool, statement, args...)
}

func queryValue[T any](t *testing.T, db *outboxtest.Database, statement string, args ...any) T {
	t.Helper()
	return outboxtest.One[T](t, db.Pool, statement, args...)
}

func versions(t *testing.T, db *outboxtest.Database) map[canonical.Component]int {
	t.Helper()
	installed, err := gen.InstalledVersions(t.Context(), db.Pool, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	got := map[canonical.Component]int{}
	for _, i := range installed {
		got[i.Component] = i.Version
	}
	return got
}

func newestVersions() map[canonical.Component]int {
	want := map[canonical.Component]int{}
	for _, c := range canonical.Components() {
		want[c] = canonical.Version(c)
	}
	return want
}

func TestDatabasesArePrivate(t *testing.T) {
	t.Parallel()
	one, two := outboxtest.NewDatabase(t), outboxtest.NewDatabase(t)
	execSQL(t, one, insertOne)
	for db, want := range map[*outboxtest.Database]int{one: 1, two: 0, outboxtest.NewDatabase(t): 0} {
		if got := queryValue[int](t, db, "select count(*) from outbox.event_outbox"); got != want {
			t.Errorf("%s has %d events, want %d", db.Name, got, want)
		}
		if got := queryValue[string](t, db, "select current_database()"); got != db.Name {
			t.Errorf("connected to %s, want %s", got, db.Name)
		}
		if diff := cmp.Diff(newestVersions(), versions(t, db)); diff != "" {
			t.Errorf("installed in %s (-want +got):\n%s", db.Name, diff)
		}
	}
	conn, err := pgx.Connect(t.Context(), two.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestManyDatabasesAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	names := map[string]bool{}
	t.Run("group", func(t *testing.T) {
		for range 12 {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				db := outboxtest.NewDatabase(t)
				execSQL(t, db, insertOne)
				mu.Lock()
				defer mu.Unlock()
				names[db.Name] = true
			})
		}
	})
	if len(names) != 12 {
		t.Errorf("12 databases have %d names", len(names))
	}
	watch := outboxtest.NewEmptyDatabase(t)
	for name := range names {
		if queryValue[bool](t, watch, "select exists (select from pg_database where datname = $1)", name) {
			t.Errorf("%s outlived its test", name)
		}
	}
}

func TestNewEmptyDatabase(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	if got := versions(t, db); len(got) > 0 {
		t.Errorf("an empty database has %v", got)
	}
	if queryValue[bool](t, db, "select to_regnamespace('outbox') is not null") {
		t.Error("an empty database has the schema outbox")
	}
}

func TestClusterIsShared(t *testing.T) {
	t.Parallel()
	first, second := outboxtest.Cluster(t), outboxtest.Cluster(t)
	if first != second {
		t.Error("two shared clusters")
	}
	if db := outboxtest.NewDatabase(t); db.URL != first.URL(db.Name) {
		t.Errorf("%s is not in the shared cluster", db.URL)
	}
}

func TestDatabaseInOwnClusterSurvivesRestart(t *testing.T) {
	t.Parallel()
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{})
	db := outboxtest.NewDatabaseIn(t, pg)
	execSQL(t, db, insertOne)
	pg.Kill()
	if _, err := db.Pool.Exec(t.Context(), "select 1"); err == nil {
		t.Error("a killed cluster answers")
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := outboxtest.Staged(t, db.Pool); len(got) != 1 {
		t.Errorf("%d events after the restart, want 1", len(got))
	}
	if err := pg.Stop(t.Context(), "fast"); err != nil { // a test may end like this
		t.Fatal(err)
	}
}

func TestServerLogIsAboutOneDatabase(t *testing.T) {
	t.Parallel()
	one, two := outboxtest.NewDatabase(t), outboxtest.NewDatabase(t)
	if _, err := one.Pool.Exec(t.Context(), "select 1 /\n 0"); err == nil {
		t.Fatal("a division by zero succeeded")
	}
	if _, err := two.Pool.Exec(t.Context(), "select * from nowhere"); err == nil {
		t.Fatal("read a table that doesn't exist")
	}
	log := one.ServerLog(t)
	for _, part := range []string{"sqlstate=22012", "select 1 /\n", "\t 0\n"} {
		if !strings.Contains(log, part) {
			t.Errorf("the log of the first database lacks %q:\n%s", part, log)
		}
	}
	if strings.Contains(log, "nowhere") || !strings.Contains(two.ServerLog(t), "sqlstate=42P01") {
		t.Errorf("logs are mixed up:\n%s\n---\n%s", log, two.ServerLog(t))
	}
	if quiet := outboxtest.NewDatabase(t).ServerLog(t); quiet != "" {
		t.Errorf("a new database has a log:\n%s", quiet)
	}
}
