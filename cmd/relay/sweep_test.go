package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// cmdSeal sets a variable to the seal of a manifest: "seal NAME FILE".
func cmdSeal(ts *testscript.TestScript, _ bool, args []string) {
	m, err := sweep.ReadManifest(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Setenv(args[0], m.Seal())
}

// cmdEdit replaces a text in a file, whatever its mode: "edit FILE OLD NEW".
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %s", args[0], args[1])
	}
	ts.Check(os.Remove(path))
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}

// sweeper runs relay sweep as a person does, in a folder with a manifest.
type sweeper struct {
	t      *testing.T
	db     *outboxtest.Database
	folder string
	login  string
	seal   string
}

func newSweeper(t *testing.T) *sweeper {
	t.Helper()
	s := &sweeper{t: t, db: outboxtest.NewDatabase(t), folder: t.TempDir()}
	s.exec(`create table person (id text primary key, erased boolean not null default false, erasures int not null default 0, made_at timestamptz not null default now() - interval '9 days');
		insert into person (id) values ('p-1'), ('p-2');
		grant select, update on person to public`)
	var err error
	if s.login, err = loginAs(t.Context(), s.db, canonical.Operator); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"orphans.sql": `select id, true as marked, made_at, 'person' as entity_kind, id as entity_id from person where not erased`,
		"lock.sql":    `select from person where id = $1 for update`,
		"undo.sql":    `update person set erased = true, erasures = erasures + 1 where id = $1 returning 'undone' as outcome, null as reason`,
	} {
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := s.run("plan", "--candidates", "orphans.sql", "--lock", "lock.sql", "--undo", "undo.sql", "--manifest", "m"); code != 1 {
		t.Fatalf("plan exited with %d: %s", code, out)
	}
	m, err := sweep.ReadManifest(filepath.Join(s.folder, "m"))
	if err != nil {
		t.Fatal(err)
	}
	s.seal = m.Seal()
	return s
}

func (s *sweeper) exec(sql string) {
	s.t.Helper()
	if _, err := s.db.Pool.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sweeper) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], append([]string{"sweep"}, args...)...)
	cmd.Dir = s.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder, "USER=alice", mainEnv + "=1", "RELAY_DATABASE_URL=" + s.login}
	return cmd
}

func (s *sweeper) run(args ...string) (code int, out string) {
	s.t.Helper()
	text, err := s.command(args...).CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		s.t.Fatal(err)
	}
	if exited != nil {
		code = exited.ExitCode()
	}
	return code, string(text)
}

func (s *sweeper) apply(more ...string) []string {
	return append([]string{"apply", "m", "--apply", "--yes", "--seal", s.seal, "--reason", "r", "-o", "jsonl"}, more...)
}

// A relay is killed while its commit is on the way. The server goes on, and commits. The next run waits
// for that, acts on nothing twice, and says what the first one did.
func TestSweepThatWasKilledInItsCommit(t *testing.T) {
	t.Parallel()
	s := newSweeper(t)
	s.exec(`create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return null; end $$;
		create constraint trigger at_commit after update on person deferrable initially deferred for each row execute function wait()`)
	block, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer block.Rollback(t.Context())
	if _, err := block.Exec(t.Context(), "select pg_advisory_xact_lock(42)"); err != nil {
		t.Fatal(err)
	}
	const waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())"
	killed := s.command(s.apply()...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the commit waits", func() bool { return query(t, s.db, waiting) == 1 })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed

	if code, out := s.run(s.apply("--wait", "200ms")...); code != 5 || !strings.Contains(out, "of an earlier run has not ended") {
		t.Errorf("while it is on the way: exited with %d: %s", code, out)
	}
	if err := block.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, out := s.run(s.apply()...); code != 0 || strings.Count(out, `"outcome":"undone"`) != 2 {
		t.Errorf("afterwards: exited with %d: %s", code, out)
	}
	if diff := cmp.Diff([]int{2, 2}, []int{query(t, s.db, "select sum(erasures) from person"), query(t, s.db, "select count(*) from person where erasures = 1")}); diff != "" {
		t.Errorf("erasures (-want +got):\n%s", diff)
	}
}

// The answer to a commit is lost, and the database does not say what became of it: the run says so, and ends. The
// next one finds out.
func TestSweepThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := newSweeper(t)
	proxy, err := fault.NewPostgresProxy(s.login)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	if s.login, err = proxy.URL(s.login); err != nil {
		t.Fatal(err)
	}
	proxy.Add(fault.PostgresRule{Match: fault.Commits, Times: 1, Do: fault.CutAfter()})
	silence := proxy.Add(fault.PostgresRule{Match: fault.Executes("pg_xact_status"), Do: fault.StallFor(time.Hour)})
	code, out := s.run(s.apply()...)
	if code != 5 || !strings.Contains(out, `"id":"p-1","outcome":"unknown","why":"no-answer"`) || strings.Contains(out, "p-2") ||
		!strings.Contains(out, "nobody knows yet what became of a commit: candidate p-1") || !strings.Contains(out, "same results file") {
		t.Errorf("without an answer: exited with %d: %s", code, out)
	}
	silence.Remove()
	if code, out := s.run(s.apply()...); code != 0 || query(t, s.db, "select count(*) from person where erasures = 1") != 2 {
		t.Errorf("afterwards: exited with %d: %s", code, out)
	}
}

// Ctrl-C stops before the next candidate; what was done is told.
func TestSweepThatIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newSweeper(t)
	block, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer block.Rollback(t.Context())
	if _, err := block.Exec(t.Context(), "update person set erased = false where id = 'p-2'"); err != nil {
		t.Fatal(err)
	}
	cmd := s.command(s.apply("--wait", "30s")...)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock of the second is waited for", func() bool {
		return query(t, s.db, "select count(*) from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0") == 1
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exited *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exited) || exited.ExitCode() != 130 || !strings.Contains(out.String(), `"id":"p-1","outcome":"undone"`) || strings.Contains(out.String(), "p-2") {
		t.Errorf("it ended with %v and said %s", err, out.String())
	}
	if err := block.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, text := s.run(s.apply()...); code != 0 || query(t, s.db, "select count(*) from person where erasures = 1") != 2 {
		t.Errorf("afterwards: exited with %d: %s", code, text)
	}
}
