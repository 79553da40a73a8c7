package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestApplyActsOnceAndAccountsForEach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1", "a2")
	b.household("b", "b1")
	b.household("c", "c1")
	b.exec(`UPDATE person SET made_by = 'import' WHERE household = 'b'`)
	b.household("d", "d1")
	b.service.fate = func(c sweep.Candidate) hold.Fate { return hold.Quarantine("shared-with-another") }
	s := b.sweep()
	m := b.plan(s)
	b.preview(s, m, "b quarantined no-mark", "a pending", "c pending", "d pending")
	// The first one is shared; the others go.
	o := b.order(m)
	o.Limit = 1
	report, err := s.Apply(t.Context(), b.operator, m, o)
	if err != nil {
		t.Fatal(err)
	}
	b.want(report, "a quarantined shared-with-another", "b quarantined no-mark", "c pending", "d pending")
	b.service.fate = nil
	var progress []string
	o.Limit, o.Progress = 0, func(done, of int) { progress = append(progress, fmt.Sprintf("%d/%d", done, of)) }
	if report, err = s.Apply(t.Context(), b.operator, m, o); err != nil {
		t.Fatal(err)
	}
	want := []string{"a quarantined shared-with-another", "b quarantined no-mark", "c undone", "d undone"}
	b.want(report, want...)
	b.erased("c 1", "d 1")
	if report.Count(sweep.Undone) != 2 || report.Count(sweep.Quarantined) != 2 || strings.Join(progress, " ") != "3/4 4/4" {
		t.Errorf("counts of %+v, progress %v", report, progress)
	}
	b.apply(s, m, want...) // nothing is left to do
	if n := b.service.calls.Load(); n != 3 {
		t.Errorf("the service was called %d times, want 3", n)
	}
	var told int
	if err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM erasure WHERE actor = 'alice' AND reason = 'left from before receipts'`).Scan(&told); err != nil || told != 2 {
		t.Errorf("the service was told %d times who and why: %v", told, err)
	}
	if text := b.read(b.results()); strings.Contains(text, secret) || strings.Count(text, `"actor":"alice"`) != 2 {
		t.Errorf("the results are\n%s", text)
	}
}

// What happens between the plan and the act decides: each is judged again.
func TestCandidateIsJudgedAgainBeforeItIsActedOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"changed", "erased", "older", "owned", "receipt", "receipt-of-a-new-part", "still", "unmarked"} {
		b.household(id, id+"-1", id+"-2")
	}
	s := b.sweep()
	m := b.plan(s)
	take := func(household, person string) {
		if err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error { return touch(t.Context(), tx, b.step(), household, person) }); err != nil {
			t.Fatal(err)
		}
	}
	take("receipt", "receipt-2")
	b.exec(`INSERT INTO person SELECT 'receipt-of-a-new-part-3', household, name, made_by, false, 0, made_at FROM person WHERE id = 'receipt-of-a-new-part-1'`)
	take("receipt-of-a-new-part", "receipt-of-a-new-part-3")
	b.exec(`INSERT INTO person SELECT 'changed-3', household, name, made_by, false, 0, made_at FROM person WHERE id = 'changed-1'`)
	b.exec(`UPDATE person SET made_at = now() - interval '1 y' WHERE household = 'older'`)
	b.exec(`UPDATE person SET erased = true WHERE household = 'erased'`)
	b.exec(`INSERT INTO contract VALUES ('owned')`)
	b.exec(`UPDATE person SET made_by = NULL WHERE id = 'unmarked-2'`)
	want := []string{"changed skipped changed", "erased skipped gone", "older skipped changed", "owned skipped gone", "receipt skipped receipt",
		"receipt-of-a-new-part skipped receipt", "still undone", "unmarked quarantined no-mark"}
	b.apply(s, m, want...)
	b.erased("still 1")
	// These outcomes are final in this manifest, also when what spoke against it has gone.
	b.exec(`DELETE FROM contract`)
	b.exec(`UPDATE person SET made_by = 'finalize'`)
	b.apply(s, m, want...)
	b.erased("still 1")
}

// The operation is live: its write has the lock and is not committed. The sweep waits, and then sees the receipt.
func TestReceiptOfAWriteThatIsOpenIsSeen(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	writer, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Rollback(t.Context())
	if err := touch(t.Context(), writer, b.step(), "a", "a1"); err != nil {
		t.Fatal(err)
	}
	ended := b.start(s, m, b.order(m))
	b.waitBlocked(writer.Conn().PgConn().PID())
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantEnd(ended, "a skipped receipt")
	b.erased()
}

// A lock that somebody keeps fails its candidate alone, and the next run tries again.
func TestLockThatIsNotHadStopsNoOther(t *testing.T) {
	t.Parallel()
	b, _, m := reviewed(t, "a", "b")
	s := b.sweep(func(c *sweep.Config) { c.Wait = 50e6 })
	if err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtext('a'))`); err != nil {
			return err
		}
		b.apply(s, m, "a failed sqlstate-55P03", "b undone")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.apply(s, m, "a undone", "b undone")
	b.erased("a 1", "b 1")
}

func TestManifestOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	b, other := setup(t), setup(t)
	b.household("a", "a1")
	other.household("a", "a1")
	s := b.sweep()
	m := b.plan(s)
	_, err := s.Apply(t.Context(), other.operator, m, b.order(m))
	wantRefusal(t, "apply", err, sweep.ErrForeign)
	_, err = s.Preview(t.Context(), other.operator, m, b.order(m))
	wantRefusal(t, "preview", err, sweep.ErrForeign)
	copied := *m // as after a restore into another cluster, where all else is the same
	copied.Database.Cluster = "42"
	_, err = s.Apply(t.Context(), b.operator, &copied, b.order(&copied))
	wantRefusal(t, "apply", err, sweep.ErrForeign)
	changed := b.sweep(func(c *sweep.Config) { c.Candidates = orphans + " AND true" })
	_, err = changed.Apply(t.Context(), b.operator, m, b.order(m))
	wantRefusal(t, "apply", err, sweep.ErrChanged)
	b.erased()
	other.erased()
}

func TestActingWantsALoginOfItsOwn(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	b.exec(`CREATE ROLE ` + b.Name + `_owner LOGIN; ALTER SCHEMA outbox OWNER TO ` + b.Name + `_owner; GRANT SELECT ON ALL TABLES IN SCHEMA outbox TO ` + b.Name + `_owner`)
	for name, pool := range map[string]*pgxpool.Pool{
		"superuser": b.Pool, "owner": b.connect(b.Name + "_owner"), "producer": b.login(canonical.Producer),
	} {
		_, err := s.Apply(t.Context(), pool, m, b.order(m))
		wantRefusal(t, name, err, sweep.ErrRole)
	}
	var server *pgconn.PgError
	if _, err := s.Apply(t.Context(), b.login(canonical.Drainer), m, b.order(m)); !errors.As(err, &server) || server.Code != "42501" || outbox.Hint(err) == "" {
		t.Errorf("relay: error is %v, want 42501 with a hint", err)
	}
	b.erased()
	b.apply(s, m, "a undone")
}

// Nothing of a manifest runs before its seal is compared, if there is one, and the login is judged.
func TestNothingOfAManifestRunsBeforeItIsAdmitted(t *testing.T) {
	t.Parallel()
	b, _, m := reviewed(t, "a")
	runs := func(db hold.Beginner, o sweep.Application) error {
		t.Helper()
		s := b.sweep(func(c *sweep.Config) { c.Candidates = orphans + "\n AND 1 / 0 = 1" }) // which tells that it runs
		changed := *m
		changed.Service.Candidates = orphans + "\n AND 1 / 0 = 1"
		_, err := s.Preview(t.Context(), db, &changed, o)
		return err
	}
	var server *pgconn.PgError
	look := sweep.Application{Results: b.results()}
	if err := runs(b.operator, look); !errors.As(err, &server) || server.Code != "22012" {
		t.Errorf("error is %v, want that of the query", err)
	}
	wantRefusal(t, "another seal", runs(b.operator, b.order(m)), sweep.ErrSeal)
	wantRefusal(t, "a superuser", runs(b.Pool, look), sweep.ErrRole)
	wantRefusal(t, "a producer", runs(b.login(canonical.Producer), look), sweep.ErrRole)
}

func TestUndoThatUndidNothingIsRolledBack(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a", "b")
	b.service.fate = func(c sweep.Candidate) hold.Fate {
		return map[string]hold.Fate{"a": hold.Undone(), "b": hold.Quarantine("Ada Lovelace said so")}[c.ID]
	}
	report := b.apply(s, m, "a failed still-a-candidate", "b failed error")
	if !errors.Is(report.Results[0].Err, sweep.ErrStillCandidate) {
		t.Errorf("error is %v", report.Results[0].Err)
	}
	if text := b.read(b.results()); strings.Contains(text, "Ada") {
		t.Errorf("the results are\n%s", text)
	}
	b.service.fate = nil
	b.apply(s, m, "a undone", "b undone")
}

func TestCandidateThatFailsStopsNoOtherAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a", "b")
	commitAsBefore := b.atCommit("a", `RAISE EXCEPTION 'no, says %', NEW.name`)
	b.apply(s, m, "a failed sqlstate-P0001", "b undone") // its commit fails
	b.service.under = func(context.Context, pgx.Tx, sweep.Candidate) error { return errors.New("no, says " + secret) }
	b.apply(s, m, "a failed error", "b undone")
	b.service.under = func(ctx context.Context, tx pgx.Tx, c sweep.Candidate) error {
		_, err := tx.Exec(ctx, `SELECT name::uuid FROM person`)
		return err
	}
	b.apply(s, m, "a failed sqlstate-22P02", "b undone")
	if text := b.read(b.results()); strings.Contains(text, secret) || strings.Contains(text, "says") {
		t.Errorf("the results hold the text of an error:\n%s", text)
	}
	commitAsBefore()
	b.service.under = nil
	b.apply(s, m, "a undone", "b undone")
	b.erased("a 1", "b 1")
}

// What would fail each candidate ends the run, and leaves no outcome.
func TestErrorOfAllCandidatesEndsTheRun(t *testing.T) {
	t.Parallel()
	b, s, m := reviewed(t, "a")
	b.exec(`REVOKE UPDATE ON person FROM ` + b.Name + `_login_operator`)
	report, err := s.Apply(t.Context(), b.operator, m, b.order(m))
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != "42501" || outbox.Hint(err) == "" {
		t.Errorf("error is %v, want 42501 with a hint", err)
	}
	b.want(report, "a pending")
	b.exec(`GRANT UPDATE ON person TO ` + b.Name + `_login_operator`)
	b.service.under = func(ctx context.Context, tx pgx.Tx, _ sweep.Candidate) error {
		_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	}
	if report, err = s.Apply(t.Context(), b.operator, m, b.order(m)); err == nil {
		t.Error("the run did not notice that its connection was lost")
	}
	b.want(report, "a pending")
	ctx, interrupt := context.WithCancel(t.Context())
	b.service.under = func(context.Context, pgx.Tx, sweep.Candidate) error { interrupt(); return nil }
	if report, err = s.Apply(ctx, b.operator, m, b.order(m)); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the interruption", err)
	}
	b.want(report, "a pending")
	b.erased()
	b.service.under = nil
	b.apply(s, m, "a undone")
}
