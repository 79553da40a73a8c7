package sweep_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// reviewed is a bundle with a household of one person for each id, "a" and "a1", and the plan of them.
func reviewed(t *testing.T, ids ...string) (*bundle, *sweep.Sweep, *sweep.Manifest) {
	t.Helper()
	b := setup(t)
	for _, id := range ids {
		b.household(id, id+"1")
	}
	s := b.sweep()
	return b, s, b.plan(s)
}

// preview wants these outcomes, "id outcome why", or "id pending".
func (b *bundle) preview(s *sweep.Sweep, m *sweep.Manifest, want ...string) {
	b.t.Helper()
	report, err := s.Preview(b.t.Context(), b.operator, m, b.order(m))
	if err != nil {
		b.t.Fatalf("preview: %v", err)
	}
	b.want(report, want...)
}

// wantRefusal wants an error of this kind that says what a person can do.
func wantRefusal(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) || outbox.Hint(err) == "" {
		t.Errorf("%s: error is %v, want %v with a hint", what, err, kind)
	}
}

// atCommit has the database do something in each commit that changes a person of the household, until it is told to stop.
func (b *bundle) atCommit(household, do string) (stop func()) {
	b.t.Helper()
	b.exec(`CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ` + do + `; RETURN NULL; END $$;
	        CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON person DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.household = '` + household + `') EXECUTE FUNCTION at_commit()`)
	return func() { b.exec(`DROP TRIGGER at_commit ON person`) }
}

// throughAProxy is the operator's login behind one that can be told to break something.
func (b *bundle) throughAProxy() (*fault.PostgresProxy, *pgxpool.Pool) {
	b.t.Helper()
	proxy, err := fault.NewPostgresProxy(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	address, err := proxy.URL(b.operator.Config().ConnString())
	if err != nil {
		b.t.Fatal(err)
	}
	pool := outboxtest.NewPool(b.t, address)
	b.t.Cleanup(func() { _ = proxy.Close() }) // first: it ends what hangs
	return proxy, pool
}

// start applies in a goroutine.
func (b *bundle) start(s *sweep.Sweep, m *sweep.Manifest, o sweep.Application) <-chan end {
	return b.startAt(b.operator, s, m, o)
}

func (b *bundle) startAt(db hold.Beginner, s *sweep.Sweep, m *sweep.Manifest, o sweep.Application) <-chan end {
	ended := make(chan end, 1)
	go func() {
		report, err := s.Apply(b.t.Context(), db, m, o)
		ended <- end{report, err}
	}()
	return ended
}

// end is how a run ends.
type end struct {
	report *sweep.Report
	err    error
}

func (b *bundle) ended(run <-chan end) end {
	b.t.Helper()
	select {
	case e := <-run:
		return e
	case <-time.After(waitLimit):
		b.t.Fatal("the run does not end")
		return end{}
	}
}

func (b *bundle) wantEnd(run <-chan end, want ...string) {
	b.t.Helper()
	e := b.ended(run)
	if e.err != nil {
		b.t.Fatal(e.err)
	}
	b.want(e.report, want...)
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

// line is what a run writes before a commit.
func (b *bundle) line(m *sweep.Manifest, id, transaction string) {
	b.t.Helper()
	b.write(b.results(), fmt.Sprintf("{\"run\":{\"manifest\":%q,\"actor\":\"alice\",\"reason\":\"r\",\"at\":\"2026-01-01T00:00:00Z\"}}\n"+
		"{\"intends\":{\"id\":%q,\"outcome\":\"undone\",\"transaction\":%q}}\n", m.Seal(), id, transaction))
}
