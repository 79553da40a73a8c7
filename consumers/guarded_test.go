package consumers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

var one = refund{ID: "re_1", Account: "acct_1", Amount: 500}

// known is a bundle in which a fact is known, and has its effect, so that a handler has nothing to write.
func known(t *testing.T) (*bundle, event.Event) {
	b := setup(t)
	e := newEvent(t, "event-1", one)
	if r, err := mustApplier(b, b.config()).Apply(t.Context(), e); err != nil || r.Outcome != consumers.Applied {
		t.Fatalf("%s, %v", r.Outcome, err)
	}
	return b, e
}

// locks keeps everybody from the effects until the transaction ends.
func (b *bundle) locks() pgx.Tx {
	b.t.Helper()
	tx, err := b.Pool.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // ends with the test
	outboxtest.Exec(b.t, tx, "LOCK TABLE public.refund IN ACCESS EXCLUSIVE MODE")
	return tx
}

// waitsFor waits until somebody has waited for a lock for some time.
func (b *bundle) waitsFor(d time.Duration) {
	b.t.Helper()
	b.wait("the proof waits", func() bool {
		return query[bool](b, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > $1 * interval '1 millisecond')`, d.Milliseconds())[0]
	})
}

// TestCommitHasTheTimeOfTheHandler, and not only what is enough for a commit: its trip proves too.
func TestCommitHasTheTimeOfTheHandler(t *testing.T) {
	t.Parallel()
	b, e := known(t)
	cfg := b.config()
	cfg.SettleTimeout = 50 * time.Millisecond
	a := mustApplier(b, cfg)
	lock := b.locks()
	type result struct {
		consumers.Result
		error
	}
	ended := make(chan result, 1)
	go func() {
		r, err := a.Apply(t.Context(), e)
		ended <- result{r, err}
	}()
	b.waitsFor(10 * cfg.SettleTimeout)
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.error != nil || r.Outcome != consumers.Replayed {
		t.Errorf("%s, %v", r.Outcome, r.error)
	}
}

// TestStopIsNotKeptByACommit: it is waited for as long as a commit may take, and its outcome is not known then.
func TestStopIsNotKeptByACommit(t *testing.T) {
	t.Parallel()
	b, e := known(t)
	cfg := b.config()
	cfg.SettleTimeout, cfg.HandleTimeout = 200*time.Millisecond, time.Hour
	a := mustApplier(b, cfg)
	b.locks()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := a.Apply(ctx, e)
		ended <- err
	}()
	b.waitsFor(0)
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, consumers.ErrUnknownCommit) {
			t.Errorf("error is %v", err)
		}
	case <-time.After(patience):
		t.Error("it does not stop")
	}
}

// TestProofThatNeverEndsIsCounted: the first delivery does not know what became of its commit; those behind it say
// that handling takes too long, and the event is a dead letter at last.
func TestProofThatNeverEndsIsCounted(t *testing.T) {
	t.Parallel()
	b, _ := known(t)
	cfg := b.config()
	cfg.HandleTimeout, cfg.SettleTimeout, cfg.Attempts = time.Second, 500*time.Millisecond, 2
	b.locks()
	b.run(apply, cfg)
	b.publish("event-1", "refund.made", one)
	b.wait("a dead letter", func() bool { return b.count("outbox.consumer_dead_letter") == 1 })
	b.settled()
	if o, f, r := b.deliveries("outage"), b.deliveries("failed"), query[string](b, "SELECT reason_code FROM outbox.consumer_dead_letter")[0]; o != 1 || f != 1 || r != "exhausted" {
		t.Errorf("%v outages, %v failed and a dead letter because %s, want 1, 1 and exhausted", o, f, r)
	}
}

// TestTimeThatIsOverCommitsNothing, whatever the handler makes of it.
func TestTimeThatIsOverCommitsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.HandleTimeout = time.Second
	a, err := consumers.NewApplier(b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		err := apply(ctx, tx, e)
		<-ctx.Done()
		return err
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), newEvent(t, "event-1", one)); !errors.Is(err, consumers.ErrTimeout) {
		t.Errorf("error is %v", err)
	}
	b.wantEffects(0)
}

// TestServerThatEndsDuringTheCommit leaves its outcome open, which the next delivery finds out. What a server that lives
// refuses is rolled back, and the transaction runs again.
func TestServerThatEndsDuringTheCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action  fault.PostgresAction
		unknown bool
	}{
		"it shuts down": {fault.FailFatally("57P01"), true},
		"it is cut":     {fault.CutAfter(), true},
		"it refuses":    {fault.Fail("23514"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool, proxy := b.proxied()
			proxy.Add(fault.PostgresRule{Match: fault.Commits, Do: c.action, Times: 1})
			a, err := consumers.NewApplier(pool, apply, b.config())
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Apply(t.Context(), newEvent(t, "event-1", one))
			if errors.Is(err, consumers.ErrUnknownCommit) != c.unknown || !c.unknown && err != nil {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestRefusedInEveryProtocolMode: what is not proven, or paused, is not committed, is said, and costs no connection.
func TestRefusedInEveryProtocolMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool := outboxtest.NewPool(t, b.URL, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode, c.MaxConns = mode, 1 })
			b.refused(pool)
			if n := pool.Stat().NewConnsCount(); n != 1 {
				t.Errorf("%d connections were made, want one", n)
			}
		})
	}
}

// TestRefusedBehindAPooler, which sees the commit in one trip with what it depends on.
func TestRefusedBehindAPooler(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, err := outboxtest.NewPooler(t, b.URL, harness.PoolerOptions{}).URL(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.refused(outboxtest.NewPool(t, url))
}

// refused applies an event that is not proven, one that is paused, and one with which nothing is wrong.
func (b *bundle) refused(pool *pgxpool.Pool) {
	b.t.Helper()
	var unproven *consumers.ProofError
	for _, c := range []struct {
		handle consumers.Handler
		paused bool
		is     func(error) bool
		want   int
	}{
		{claimOnly, false, func(err error) bool { return errors.As(err, &unproven) && unproven.Found == consumers.Evidence{} }, 0},
		{apply, true, func(err error) bool { return errors.Is(err, consumers.ErrPaused) }, 0},
		{apply, false, func(err error) bool { return err == nil }, 1},
	} {
		state := "running"
		if c.paused {
			state = "paused"
		}
		b.exec(`INSERT INTO outbox.consumer_control (consumer_group, state, changed_by, reason) VALUES ('ledger', $1, 'alice', 'a test')
			ON CONFLICT (consumer_group) DO UPDATE SET state = excluded.state`, state)
		a, err := consumers.NewApplier(pool, c.handle, b.config())
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := a.Apply(b.t.Context(), newEvent(b.t, "event-1", one)); !c.is(err) {
			b.t.Errorf("%s: error is %v", state, err)
		}
		b.wantEffects(c.want)
	}
}

// claimOnly claims, and writes no effect.
func claimOnly(ctx context.Context, tx *facts.Tx, e event.Event) error {
	fact, _, err := factOf(e)
	if err != nil {
		return err
	}
	_, err = facts.Claim(ctx, tx, fact)
	return err
}
