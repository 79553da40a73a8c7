package harness_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

func TestPostgresKeepsDataAndPortOverEveryKindOfStop(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	runSQL(t, pg, "postgres", "create table kept (how text)")
	port, url := pg.Port(), pg.URL("postgres")

	stop := func(mode string) func() error {
		return func() error { return pg.Stop(t.Context(), mode) }
	}
	kill := func() error { pg.Kill(); return nil }
	for _, c := range []struct {
		name string
		stop func() error
	}{
		{"smart", stop("smart")},
		{"fast", stop("fast")},
		{"immediate", stop("immediate")},
		{"kill", kill},
		{"kill again", kill},
	} {
		runSQL(t, pg, "postgres", "insert into kept values ('"+c.name+"')")
		if err := c.stop(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, err := pgx.Connect(t.Context(), url); err == nil {
			t.Fatalf("%s: the server still accepts connections", c.name)
		}
		if err := pg.Start(t.Context()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	got := query(t, pg, "postgres", "select string_agg(how, ', ') from kept")
	if diff := cmp.Diff("smart, fast, immediate, kill, kill again", got); diff != "" {
		t.Errorf("rows after the restarts (-want +got):\n%s", diff)
	}
	if pg.Port() != port || pg.URL("postgres") != url {
		t.Errorf("the address changed from %s to %s", url, pg.URL("postgres"))
	}
}

func TestPostgresStartsAfterKillUnderLoad(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	runSQL(t, pg, "postgres", "create table load (x text)")
	for range 3 {
		busy := connect(t, pg, "postgres")
		pid := busy.PgConn().PID()
		ended := make(chan error, 1)
		go func() {
			_, err := busy.Exec(t.Context(), "insert into load select repeat('x', 100) from generate_series(1, 100000000)")
			ended <- err
		}()
		eventually(t, "the insert runs", func() bool {
			var active bool
			conn := connect(t, pg, "postgres")
			defer conn.Close(t.Context())
			err := conn.QueryRow(t.Context(), "select state = 'active' from pg_stat_activity where pid = $1", pid).Scan(&active)
			return err == nil && active
		})
		pg.Kill()
		if err := pg.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("the statement survived the kill")
		}
	}
}

func TestPostgresStopAndStartAreIdempotent(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	pid := postmasterPID(t, pg)
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := postmasterPID(t, pg); got != pid {
		t.Errorf("Start on a running cluster replaced process %s with %s", pid, got)
	}
	for range 2 {
		if err := pg.Stop(t.Context(), "fast"); err != nil {
			t.Fatal(err)
		}
	}
	pg.Kill()
	if err := pg.Stop(t.Context(), "slow"); err == nil || !strings.Contains(err.Error(), `"slow"`) {
		t.Errorf("Stop with an unknown mode returned %v", err)
	}
	for range 2 {
		if err := pg.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := pg.Start(t.Context()); err == nil {
		t.Error("a closed cluster started")
	}
	if _, err := os.Stat(pg.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close left %s: %v", pg.Dir(), err)
	}
}

func TestPostgresSmartStopWaitsForClients(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	client := connect(t, pg, "postgres")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := pg.Stop(ctx, "smart"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stop returned %v with a client connected", err)
	}
	if err := client.Ping(t.Context()); err != nil {
		t.Errorf("a smart stop cut the client off: %v", err)
	}
	if err := client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pg.Stop(t.Context(), "smart"); err != nil {
		t.Fatal(err)
	}
}

func TestPostgresSettings(t *testing.T) {
	t.Parallel()
	names := []string{
		"fsync", "full_page_writes", "synchronous_commit", "max_connections", "listen_addresses",
		"server_encoding", "lc_collate_of_database", "timezone", "work_mem", "holdfast.quoted",
	}
	show := func(pg *harness.Postgres) map[string]string {
		got := map[string]string{}
		for _, name := range names {
			statement := "select coalesce(current_setting('" + name + "', true), '')"
			if name == "lc_collate_of_database" {
				statement = "select datcollate from pg_database where datname = current_database()"
			}
			got[name] = query(t, pg, "postgres", statement)
		}
		return got
	}
	quick := startPostgres(t, harness.PostgresOptions{Settings: map[string]string{
		"work_mem": "8MB", "holdfast.quoted": `it's \ a "value"`, "max_connections": "50",
	}})
	byteOrder := "C.UTF-8"
	if runtime.GOOS == "darwin" {
		byteOrder = "C"
	}
	want := map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "max_connections": "50",
		"listen_addresses": "127.0.0.1", "server_encoding": "UTF8", "lc_collate_of_database": byteOrder,
		"timezone": "UTC", "work_mem": "8MB", "holdfast.quoted": `it's \ a "value"`,
	}
	if diff := cmp.Diff(want, show(quick)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	durable := startPostgres(t, harness.PostgresOptions{Durable: true})
	for name, value := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "max_connections": "200", "work_mem": "4MB", "holdfast.quoted": "",
	} {
		want[name] = value
	}
	if diff := cmp.Diff(want, show(durable)); diff != "" {
		t.Errorf("settings of a durable cluster (-want +got):\n%s", diff)
	}
}

func TestPostgresRefusesSettings(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"port":         "5432",
		"Bad Name":     "1",
		"work_mem":     "4MB\nfsync = on",
		"no_such_knob": "1",
	} {
		pg, err := harness.StartPostgres(t.Context(), harness.PostgresOptions{Settings: map[string]string{name: value}})
		if err == nil {
			_ = pg.Close()
			t.Errorf("%s = %q was accepted", name, value)
			continue
		}
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestPostgresLogNamesSQLSTATE(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	log, err := pg.Log()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log, "ERROR") || strings.Contains(log, "FATAL") {
		t.Errorf("a start leaves errors in the log:\n%s", log)
	}
	conn := connect(t, pg, "postgres")
	if _, err := conn.Exec(t.Context(), "create table once (id int primary key)"); err != nil {
		t.Fatal(err)
	}
	const insert = "insert into once values (1)"
	for range 2 {
		_, err = conn.Exec(t.Context(), insert)
	}
	if got := sqlstate(err); got != "23505" {
		t.Fatalf("the second insert returned %v", err)
	}
	log, err = pg.Log()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"sqlstate=23505 db=postgres ERROR:", "STATEMENT:  " + insert} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %q:\n%s", part, log)
		}
	}
}

func TestPostgresRunsUnprivileged(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, harness.PostgresOptions{})
	info, err := os.Stat(filepath.Join(pg.Dir(), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	uid := info.Sys().(*syscall.Stat_t).Uid
	if euid := os.Geteuid(); uid == 0 || (euid != 0 && int(uid) != euid) {
		t.Errorf("the server runs as uid %d, this process as %d", uid, euid)
	}
}

func TestTwoClustersSideBySide(t *testing.T) {
	t.Parallel()
	one := startPostgres(t, harness.PostgresOptions{})
	two := startPostgres(t, harness.PostgresOptions{})
	if one.Port() == two.Port() || one.Dir() == two.Dir() {
		t.Fatalf("two clusters share %d %s", one.Port(), one.Dir())
	}
	runSQL(t, one, "postgres", "create table mine ()")
	if got := query(t, two, "postgres", "select count(*)::text from pg_tables where tablename = 'mine'"); got != "0" {
		t.Error("a table of one cluster is in the other")
	}
	if err := one.Stop(t.Context(), "immediate"); err != nil {
		t.Fatal(err)
	}
	query(t, two, "postgres", "select '1'")
}

func TestPostgresInNamedDirectory(t *testing.T) {
	t.Parallel()
	// The name is so long that no socket fits into the directory.
	dir := filepath.Join(openTempDir(t), strings.Repeat("long", 25))
	pg := startPostgres(t, harness.PostgresOptions{Dir: dir})
	runSQL(t, pg, "postgres", "create table kept ()")
	if err := pg.Close(); err != nil {
		t.Fatal(err)
	}
	again := startPostgres(t, harness.PostgresOptions{Dir: dir})
	if got := query(t, again, "postgres", "select count(*)::text from pg_tables where tablename = 'kept'"); got != "1" {
		t.Error("the data of a named directory did not survive Close")
	}
}

func TestPostgresLeavesForeignDataAlone(t *testing.T) {
	t.Parallel()
	dir := openTempDir(t)
	foreign := filepath.Join(dir, "data", "PG_VERSION")
	if err := os.MkdirAll(filepath.Dir(foreign), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(foreign, []byte("15\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := harness.StartPostgres(t.Context(), harness.PostgresOptions{Dir: dir})
	var hinted *harness.Error
	if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, "another directory") {
		t.Errorf("StartPostgres on data of someone else returned %v", err)
	}
	if content, err := os.ReadFile(foreign); err != nil || string(content) != "15\n" {
		t.Errorf("the foreign file changed: %q, %v", content, err)
	}
}

func TestPostgresStartHonoursContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("not needed any more")
	cancel(cause)
	if _, err := harness.StartPostgres(ctx, harness.PostgresOptions{}); !errors.Is(err, cause) {
		t.Errorf("StartPostgres returned %v", err)
	}
}

func TestPostgresLeavesRunningClusterAlone(t *testing.T) {
	t.Parallel()
	dir := openTempDir(t)
	first := startPostgres(t, harness.PostgresOptions{Dir: dir})
	second, err := harness.StartPostgres(t.Context(), harness.PostgresOptions{Dir: dir})
	if err == nil {
		_ = second.Close()
		t.Fatal("two clusters on the same data")
	}
	if !strings.Contains(err.Error(), "postmaster.pid") {
		t.Errorf("the error does not say why: %v", err)
	}
	query(t, first, "postgres", "select '1'")
	if err := first.Stop(t.Context(), "fast"); err != nil {
		t.Error(err)
	}
}
