package gen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	// installChildEnv makes the test binary a program that installs into the database of this URL.
	installChildEnv = "HOLDFAST_GEN_INSTALL"
	installers      = 10
)

// installChild is what a service does when it starts.
func installChild(url string) int {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		err = gen.Install(ctx, conn, canonical.DefaultParams(), canonical.Components()...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestInstallAtOnce starts ten processes that install into one empty database, and holds them
// at the lock until all of them are there. The one that is first in the queue is killed
// before it can begin. Of the others one installs, and the rest find it done.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	gate, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Rollback(t.Context()) //nolint:errcheck // it is committed below
	if _, err := gate.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", gen.InstallLock); err != nil {
		t.Fatal(err)
	}
	children := make([]*exec.Cmd, installers)
	said := make([]strings.Builder, installers)
	for i := range children {
		children[i] = exec.Command(os.Args[0])
		children[i].Env = append(os.Environ(), installChildEnv+"="+db.URL)
		children[i].Stderr = &said[i]
		if err := children[i].Start(); err != nil {
			t.Fatal(err)
		}
		awaitWaiting(t, db, i+1)
	}
	if err := children[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := gate.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, child := range children {
		if err := child.Wait(); (err != nil) != (i == 0) {
			t.Errorf("process %d: %v %s", i, err, said[i].String())
		}
	}
	wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{Components: canonical.Components()}))
	for what, query := range map[string]string{
		"invalid indexes":        "SELECT count(*) FROM pg_index WHERE NOT (indisvalid AND indisready AND indislive)",
		"constraints not valid":  "SELECT count(*) FROM pg_constraint WHERE NOT convalidated",
		"components not at v1":   "SELECT count(*) FROM outbox.holdfast_schema WHERE version <> 1",
		"lanes beyond the first": "SELECT count(*) - 16 FROM outbox.outbox_lane",
	} {
		var n int
		if err := db.Pool.QueryRow(t.Context(), query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	if log := db.ServerLog(t); strings.Contains(log, "ERROR") {
		t.Errorf("the server logged errors:\n%s", log)
	}
}

// awaitWaiting waits until so many sessions wait for the lock.
func awaitWaiting(t *testing.T, db *outboxtest.Database, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for n := 0; n != want; {
		err := db.Pool.QueryRow(ctx, "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = $1 AND l.locktype = 'advisory' AND NOT l.granted", db.Name).Scan(&n)
		if err != nil {
			t.Fatalf("wait for %d installers: %v", want, err)
		}
	}
}

// TestInstallRefusesOtherBytes: what was made with other parameters is left alone.
func TestInstallRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	err = gen.Install(t.Context(), conn.Conn(), canonical.Params{Lanes: 4}, canonical.Outbox)
	var mismatch *gen.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Component != canonical.Outbox || mismatch.Version != 1 || mismatch.Hint() == "" {
		t.Errorf("install with other lanes: %v", err)
	}
	wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{}))
}
