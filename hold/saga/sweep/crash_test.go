package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
)

// start applies in a goroutine.
func (b *bundle) start(s *sweep.Sweep, m *sweep.Manifest, o sweep.Application) <-chan end {
	ended := make(chan end, 1)
	go func() {
		report, err := s.Apply(b.t.Context(), b.operator, m, o)
		ended <- end{report, err}
	}()
	return ended
}

type end struct {
	report *sweep.Report
	err    error
}

func (b *bundle) wantEnd(ended <-chan end, want ...string) {
	b.t.Helper()
	select {
	case e := <-ended:
		if e.err != nil {
			b.t.Fatal(e.err)
		}
		b.want(e.report, want...)
	case <-time.After(waitLimit):
		b.t.Fatal("the run does not end")
	}
}

// waitBlocked returns when somebody waits for the backend.
func (b *bundle) waitBlocked(by uint32) {
	b.t.Helper()
	for deadline := time.Now().Add(waitLimit); ; time.Sleep(time.Millisecond) { // between two looks, not instead of one
		var waits bool
		const sql = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid)))`
		if err := b.Pool.QueryRow(b.t.Context(), sql, by).Scan(&waits); err != nil {
			b.t.Fatal(err)
		}
		if waits {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("nobody ever waited for backend %d", by)
		}
	}
}

// The process dies when the commit is done and the line behind it is not, or not whole. It must not act again, and
// not say that it did nothing.
func TestKilledBetweenTheCommitAndItsLine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	s := b.sweep()
	m := b.plan(s)
	b.apply(s, m, "a undone")
	whole := b.read(b.results())
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	if !strings.Contains(whole[last:], `"result"`) || !strings.Contains(whole[:last], `"intends"`) {
		t.Fatalf("the results are\n%s", whole)
	}
	for cut := last; cut < len(whole); cut += 7 {
		b.write(b.results(), whole[:cut])
		preview, err := s.Preview(t.Context(), b.operator, m, b.results())
		if err != nil {
			t.Fatal(err)
		}
		b.want(preview, "a undone")
		b.apply(s, m, "a undone")
		if text := b.read(b.results()); !strings.HasPrefix(text, whole[:last]) || !strings.HasSuffix(text, whole[last:]) {
			t.Fatalf("cut at %d of %d, the results are\n%s", cut, len(whole), text)
		}
	}
	b.erased("a 1")
	if n := b.service.calls.Load(); n != 1 {
		t.Errorf("the service was called %d times", n)
	}
}

// line is what a run writes before a commit.
func (b *bundle) line(m *sweep.Manifest, id, transaction string) {
	b.t.Helper()
	b.write(b.results(), fmt.Sprintf("{\"run\":{\"manifest\":%q,\"actor\":\"alice\",\"reason\":\"r\",\"at\":\"2026-01-01T00:00:00Z\"}}\n"+
		"{\"intends\":{\"id\":%q,\"outcome\":\"undone\",\"transaction\":%q}}\n", m.Seal(), id, transaction))
}

// The process dies while its commit is on the way: the transaction goes on without it.
func TestKilledWhileTheCommitIsOnItsWay(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"commits", "rolls back"} {
		b := setup(t)
		b.household("a", "a1")
		s := b.sweep(func(c *sweep.Config) { c.Wait = 60e6 })
		m := b.plan(s)
		tx, err := b.operator.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context())
		var id string
		if err := tx.QueryRow(t.Context(), `UPDATE person SET erased = true, erasures = erasures + 1 RETURNING pg_current_xact_id()::text`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		b.line(m, "a", id)
		preview, err := s.Preview(t.Context(), b.operator, m, b.results())
		if err != nil {
			t.Fatal(err)
		}
		b.want(preview, "a pending")
		report, err := s.Apply(t.Context(), b.operator, m, b.order(m))
		if !errors.Is(err, sweep.ErrBusy) || outbox.Hint(err) == "" {
			t.Errorf("error is %v, want ErrBusy with a hint", err)
		}
		b.want(report, "a pending")
		if way == "commits" {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		report = b.apply(s, m, "a undone")
		if by := report.Results[0].Transaction; (by == id) != (way == "commits") {
			t.Errorf("%s: undone by transaction %s; the first was %s", way, by, id)
		}
		b.erased("a 1")
	}
}

// After a restore to an earlier time nobody knows what became of the transaction: it is for a person.
func TestTransactionThatNobodyKnowsIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	s := b.sweep()
	m := b.plan(s)
	b.line(m, "a", "99999999999")
	preview, err := s.Preview(t.Context(), b.operator, m, b.results())
	if err != nil {
		t.Fatal(err)
	}
	b.want(preview, "a quarantined outcome-unknown")
	b.apply(s, m, "a quarantined outcome-unknown")
	b.erased()
}

// The connection is lost in the commit: the run asks what became of it.
func TestCommitWithoutAnAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	b.exec(`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
	        CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON person DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()`)
	s := b.sweep()
	m := b.plan(s)
	b.apply(s, m, "a failed sqlstate-57P01")
	b.exec(`DROP TRIGGER at_commit ON person`)
	b.apply(s, m, "a undone")
	b.erased("a 1")
}

func TestTwoRunsAtOnceActOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	s := b.sweep()
	m := b.plan(s)
	entered, leave := make(chan uint32, 1), make(chan struct{})
	b.service.under = func(_ context.Context, tx pgx.Tx, _ sweep.Candidate) error {
		entered <- tx.Conn().PgConn().PID()
		<-leave
		return nil
	}
	first := b.start(s, m, b.order(m))
	pid := <-entered
	if _, err := s.Apply(t.Context(), b.operator, m, b.order(m)); !errors.Is(err, sweep.ErrBusy) || outbox.Hint(err) == "" {
		t.Errorf("error is %v, want ErrBusy with a hint", err)
	}
	o := b.order(m)
	o.Results = filepath.Join(b.folder, "other")
	second := b.start(s, m, o) // waits for the lock of the candidate
	b.waitBlocked(pid)
	close(leave)
	b.wantEnd(first, "a undone")
	b.wantEnd(second, "a skipped gone")
	b.erased("a 1")
}

func TestResultsOfAnotherManifestAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	s := b.sweep()
	m := b.plan(s)
	b.household("b", "b1")
	other := b.plan(s)
	b.line(other, "a", "3")
	theirs := b.read(b.results())
	for name, text := range map[string]string{
		"of another": theirs, "no run first": theirs[strings.Index(theirs, "\n")+1:], "nonsense": "hello\n",
		"a line in the midst": strings.Replace(strings.ReplaceAll(theirs, other.Seal(), m.Seal()), "\n", "\n{\"x\":1}\n", 1),
	} {
		b.write(b.results(), text)
		if _, err := s.Apply(t.Context(), b.operator, m, b.order(m)); !errors.Is(err, sweep.ErrResults) || outbox.Hint(err) == "" {
			t.Errorf("%s: error is %v, want ErrResults with a hint", name, err)
		}
		if _, err := s.Preview(t.Context(), b.operator, m, b.results()); !errors.Is(err, sweep.ErrResults) {
			t.Errorf("%s: error of the preview is %v, want ErrResults", name, err)
		}
		if got := b.read(b.results()); got != text {
			t.Errorf("%s: the file was changed to\n%s", name, got)
		}
	}
	b.erased()
	if err := os.Remove(b.results()); err != nil {
		t.Fatal(err)
	}
	o := b.order(m)
	o.Results = filepath.Join(b.folder, "none", "results")
	if _, err := s.Apply(t.Context(), b.operator, m, o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want that the folder is not there", err)
	}
	b.apply(s, m, "a undone")
}
