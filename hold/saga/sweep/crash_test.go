package sweep_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

// The process dies when the commit is done and the line behind it is not, or not whole. It must not act again, and
// not say that it did nothing.
func TestKilledBetweenTheCommitAndItsLine(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	b.apply(s, m, "a undone")
	whole := b.read(b.results())
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	if !strings.Contains(whole[last:], `"result"`) || !strings.Contains(whole[:last], `"intends"`) {
		t.Fatalf("the results are\n%s", whole)
	}
	for cut := last; cut < len(whole); cut += 7 {
		b.write(b.results(), whole[:cut])
		b.preview(s, m, "a undone")
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

// The process dies while its commit is on the way: the transaction goes on without it.
func TestKilledWhileTheCommitIsOnItsWay(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"commits", "rolls back"} {
		b, _, m := reviewed(t, "a")
		s := b.sweep(func(c *sweep.Config) { c.Wait = 60e6 })
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
		b.preview(s, m, "a pending")
		report, err := s.Apply(t.Context(), b.operator, m, b.order(m))
		wantRefusal(t, "apply", err, sweep.ErrBusy)
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
	b, s, m := reviewed(t, "a")
	b.line(m, "a", "99999999999")
	b.preview(s, m, "a quarantined outcome-unknown")
	b.apply(s, m, "a quarantined outcome-unknown")
	b.erased()
}

// The connection is lost in the commit: the run asks what became of it.
func TestCommitWithoutAnAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	commitAsBefore := b.atCommit("a", `PERFORM pg_terminate_backend(pg_backend_pid())`)
	b.apply(s, m, "a failed sqlstate-57P01")
	commitAsBefore()
	b.apply(s, m, "a undone")
	b.erased("a 1")
}

// The connection is lost behind the commit, and then the database does not answer: the run ends, and says that
// it does not know. The next one asks again.
func TestCommitOfWhichNobodyTellsIsUnknown(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a", "b")
	proxy, pool := b.throughAProxy()
	proxy.Add(fault.PostgresRule{Match: fault.Commits, Times: 1, Do: fault.CutAfter()})
	silence := proxy.Add(fault.PostgresRule{Match: fault.Executes("pg_xact_status"), Do: fault.StallFor(time.Hour)})
	run := b.ended(b.startAt(pool, s, m, b.order(m)))
	wantRefusal(t, "apply", run.err, sweep.ErrUnanswered)
	b.want(run.report, "a unknown no-answer", "b pending")
	if text := b.read(b.results()); !strings.HasSuffix(text, `{"result":{"id":"a","outcome":"unknown","why":"no-answer","transaction":"`+run.report.Results[0].Transaction+"\"}}\n") {
		t.Errorf("the results are\n%s", text)
	}
	b.erased("a 1")
	silence.Remove()
	b.preview(s, m, "a undone", "b pending")
	if report := b.apply(s, m, "a undone", "b undone"); report.Results[0].Transaction != run.report.Results[0].Transaction {
		t.Errorf("a is undone by %s, was by %s", report.Results[0].Transaction, run.report.Results[0].Transaction)
	}
	b.erased("a 1", "b 1")
}

// After a restore to an earlier time the ids of transactions are given out again. One that was committed is another
// one when the candidate is still there.
func TestTransactionOfTheSameIDIsAnotherOne(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	var id string
	if err := b.Pool.QueryRow(t.Context(), `SELECT pg_current_xact_id()::text`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	b.line(m, "a", id)
	b.preview(s, m, "a pending")
	b.erased()
	if report := b.apply(s, m, "a undone"); report.Results[0].Transaction == id {
		t.Errorf("it is said to be undone by %s, which did something else", id)
	}
	b.erased("a 1")
}

// What was made of the same id since is no sign that it was not undone.
func TestOrphanOfTheSameIDIsAnotherOne(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	b.apply(s, m, "a undone")
	whole := b.read(b.results())
	b.write(b.results(), whole[:strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n")+1])
	b.household("a", "a2")
	b.preview(s, m, "a undone")
	b.apply(s, m, "a undone")
	b.erased("a 1")
}

func TestTwoRunsAtOnceActOnce(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	entered, leave := make(chan uint32, 1), make(chan struct{})
	b.service.under = func(_ context.Context, tx pgx.Tx, _ sweep.Candidate) error {
		entered <- tx.Conn().PgConn().PID()
		<-leave
		return nil
	}
	first := b.start(s, m, b.order(m))
	pid := <-entered
	_, err := s.Apply(t.Context(), b.operator, m, b.order(m))
	wantRefusal(t, "apply", err, sweep.ErrBusy)
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
	b, s, m := reviewed(t, "a")
	b.household("b", "b1")
	other := b.plan(s)
	b.line(other, "a", "3")
	theirs := b.read(b.results())
	for name, text := range map[string]string{
		"of another": theirs, "no run first": theirs[strings.Index(theirs, "\n")+1:], "nonsense": "hello\n",
		"a line in the midst": strings.Replace(strings.ReplaceAll(theirs, other.Seal(), m.Seal()), "\n", "\n{\"x\":1}\n", 1),
	} {
		b.write(b.results(), text)
		_, err := s.Apply(t.Context(), b.operator, m, b.order(m))
		wantRefusal(t, name, err, sweep.ErrResults)
		_, err = s.Preview(t.Context(), b.operator, m, b.order(m))
		wantRefusal(t, name+", preview", err, sweep.ErrResults)
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
