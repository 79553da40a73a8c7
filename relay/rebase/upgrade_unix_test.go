//go:build unix

package rebase_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/rebase"
)

// TestUpgrade: pg_upgrade gives the cluster another identity and goes on with its ids, so that every
// row looks as if it had been staged there. What was drained stays drained all the same.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // the servers do not run as root
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := outboxtest.NewCluster(t, harness.PostgresOptions{Dir: filepath.Join(dir, "before")})
	after := outboxtest.NewCluster(t, harness.PostgresOptions{Dir: filepath.Join(dir, "after")})
	db := outboxtest.NewDatabaseIn(t, before)
	a := open(t, db.URL)
	main := newBroker(t, "default")
	p := main.start(a)
	a.stage("drained", 100)
	savepoint(a, "drained", 5)
	eventually(t, "the events are settled", func() bool {
		return one[int](a, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch") == 105
	})
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	a.stage("new", 20)
	savepoint(a, "new", 5)

	a.pool.Close()
	db.Pool.Close()
	for _, pg := range []*harness.Postgres{before, after} {
		if err := pg.Stop(t.Context(), "fast"); err != nil {
			t.Fatal(err)
		}
	}
	upgrade(t, before, filepath.Join(dir, "before", "data"), filepath.Join(dir, "after", "data"))
	if err := after.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := open(t, after.URL(db.Name))
	main.refuses(b)
	b.stage("new", 5)
	plan := rebased(t, b)
	if g := plan.Groups[0]; g.Drained != 105 || g.Undrained != 30 || plan.StagedHere != 0 || plan.Uncertain != 0 || plan.Renumbered != 0 {
		t.Errorf("the rebase was %+v", plan)
	}
	if _, err := rebase.Apply(t.Context(), b.pool, rebase.Config{}); err == nil {
		t.Error("it can be rebased twice")
	}
	eventually(t, "the dedup window is over", main.forgets)
	p = main.start(b)
	eventually(t, "the rest is in the stream", func() bool { return main.count() >= 135 })
	eventually(t, "and settled", func() bool { return one[int](b, "SELECT sum(events) FROM outbox.outbox_batch") == 135 })
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	main.compare(b)
}

// savepoint stages events of a key in a savepoint of a transaction that has an id of its own.
func savepoint(s *store, key string, n int) {
	s.t.Helper()
	err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(s.t.Context(), "SELECT pg_current_xact_id()"); err != nil {
			return err
		}
		return pgx.BeginFunc(s.t.Context(), tx, func(inner pgx.Tx) error {
			_, err := outbox.PublishTx(s.t.Context(), inner, events(key, n, 10)...)
			return err
		})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// upgrade runs pg_upgrade as the owner of the data.
func upgrade(t *testing.T, pg *harness.Postgres, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	// The path of a socket has to be short.
	room, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(room); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(room, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(pg.BinDir(), "pg_upgrade"),
		"--old-bindir="+pg.BinDir(), "--new-bindir="+pg.BinDir(), "--old-datadir="+from, "--new-datadir="+to,
		"--username=postgres", "--socketdir="+room)
	cmd.Dir = room
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_upgrade: %v\n%s", err, out)
	}
}
