package consumers_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
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

// TestProofHasTheTimeOfTheHandler, before the commit and after it, and not only what is enough for a commit.
func TestProofHasTheTimeOfTheHandler(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol} { // guarded, and careful
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.exec("CREATE VIEW public.slow AS SELECT r.* FROM public.refund AS r, LATERAL (SELECT pg_sleep(0.5 + 0 * r.id)) AS s")
			cfg := b.config()
			cfg.SettleTimeout = 100 * time.Millisecond
			cfg.Effects = map[string]consumers.Effect{"refund": {Table: "public.slow"}}
			a := newApplier(b, b.poolIn(mode), apply, cfg)
			if r, err := a.Apply(t.Context(), newEvent(t, "event-1", one)); err != nil || r.Outcome != consumers.Applied {
				t.Errorf("%s, %v", r.Outcome, err)
			}
		})
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

// TestProofThatNeverEnds is an attempt that took too long, and no commit of which nobody ever knows.
func TestProofThatNeverEnds(t *testing.T) {
	t.Parallel()
	b, e := known(t)
	cfg := b.config()
	cfg.HandleTimeout, cfg.SettleTimeout = 3*time.Second, 500*time.Millisecond
	a := mustApplier(b, cfg)
	b.locks()
	if _, err := a.Apply(t.Context(), e); !errors.Is(err, consumers.ErrTimeout) || consumers.Classify(err) != consumers.Failed {
		t.Errorf("class %s of %v", consumers.Classify(err), err)
	}
}

// TestWhatIsRefusedIsToldInTime: a handler that takes the most of its time has it again, so that it is not blamed for a
// pause, or for a disk that is full.
func TestWhatIsRefusedIsToldInTime(t *testing.T) {
	t.Parallel()
	pause := func(b *bundle) { b.sets("paused") }
	for name, c := range map[string]struct {
		meanwhile func(*bundle)
		faults    []fault.PostgresRule
		want      consumers.Class
	}{
		"paused": {pause, nil, consumers.Held},
		"full":   {func(*bundle) {}, []fault.PostgresRule{{Match: fault.Commits, Do: fault.Fail("53100"), Times: 1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool, proxy := b.proxied()
			for _, r := range c.faults {
				proxy.Add(r)
			}
			cfg := b.config()
			cfg.HandleTimeout = 5 * time.Second
			a := newApplier(b, pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				if err := apply(ctx, tx, e); err != nil {
					return err
				}
				select {
				case <-time.After(cfg.HandleTimeout * 6 / 10):
				case <-ctx.Done():
				}
				c.meanwhile(b)
				return ctx.Err()
			}, cfg)
			if _, err := a.Apply(t.Context(), newEvent(t, "event-1", one)); consumers.Classify(err) != c.want {
				t.Errorf("class %s of %v, want %s", consumers.Classify(err), err, c.want)
			}
		})
	}
}

// TestPausedWhateverTheInboxDoes: the switch is read by a statement of its own behind it.
func TestPausedWhateverTheInboxDoes(t *testing.T) {
	t.Parallel()
	t.Run("it waits when the group is paused", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.exec("INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('ledger', '/shop', 'event-1')")
		lock, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Rollback(t.Context()) //nolint:errcheck // ends with the test
		outboxtest.Exec(t, lock, "SELECT FROM outbox.consumer_inbox FOR UPDATE")
		a := mustApplier(b, b.config())
		ended := make(chan error, 1)
		go func() {
			_, err := a.Apply(t.Context(), newEvent(t, "event-1", one))
			ended <- err
		}()
		b.waitsFor(0)
		b.sets("paused")
		if err := lock.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, consumers.ErrPaused) {
			t.Errorf("error is %v", err)
		}
		b.wantEffects(0)
	})
	t.Run("it takes no row", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.exec("CREATE FUNCTION public.skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
		b.exec("CREATE TRIGGER skip BEFORE INSERT ON outbox.consumer_inbox FOR EACH ROW EXECUTE FUNCTION public.skip()")
		b.sets("paused")
		if _, err := mustApplier(b, b.config()).Apply(t.Context(), newEvent(t, "event-1", one)); !errors.Is(err, consumers.ErrPaused) {
			t.Errorf("error is %v", err)
		}
		b.wantEffects(0)
	})
}

// TestRefusalAtTheCommit costs as many runs as it should, and ends no transaction twice.
func TestRefusalAtTheCommit(t *testing.T) {
	t.Parallel()
	for state, c := range map[string]struct {
		class consumers.Class
		runs  int64
	}{"23514": {consumers.Failed, 2}, "53100": {consumers.Outage, 2}, "40001": {consumers.Again, 3}} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.exec("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '" + state + "'; END $$")
			b.exec("CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON public.refund DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.refuse()")
			var runs atomic.Int64
			a := newApplier(b, b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				runs.Add(1)
				return apply(ctx, tx, e)
			}, b.config())
			if _, err := a.Apply(t.Context(), newEvent(t, "event-1", one)); consumers.Classify(err) != c.class || runs.Load() != c.runs {
				t.Errorf("after %d runs class %s of %v, want %d and %s", runs.Load(), consumers.Classify(err), err, c.runs, c.class)
			}
			if log := b.ServerLog(t); strings.Contains(log, "WARNING") {
				t.Errorf("the server warns:\n%s", log)
			}
			b.wantEffects(0)
		})
	}
}

// TestTimeThatIsOverCommitsNothing, whatever the handler makes of it.
func TestTimeThatIsOverCommitsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.HandleTimeout = 3 * time.Second
	a := newApplier(b, b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		err := apply(ctx, tx, e)
		<-ctx.Done()
		return err
	}, cfg)
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
			a := newApplier(b, pool, apply, b.config())
			_, err := a.Apply(t.Context(), newEvent(t, "event-1", one))
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
			log := b.ServerLog(t)
			if strings.Contains(log, one.Account) {
				t.Errorf("the server logged what is in an event:\n%s", log)
			}
			for _, why := range []string{"has 0 effects, 0 of them as it was told: nothing was committed", "group ledger is paused: nothing was committed"} {
				if strings.Contains(log, why) != (mode != pgx.QueryExecModeSimpleProtocol) {
					t.Errorf("%q is not where it should be:\n%s", why, log)
				}
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
		b.sets(state)
		a := newApplier(b, pool, c.handle, b.config())
		if _, err := a.Apply(b.t.Context(), newEvent(b.t, "event-1", one)); !c.is(err) {
			b.t.Errorf("%s: error is %v", state, err)
		}
		b.wantEffects(c.want)
	}
}

// sets sets the switch of the group.
func (b *bundle) sets(state string) {
	b.t.Helper()
	b.exec(`INSERT INTO outbox.consumer_control (consumer_group, state, changed_by, reason) VALUES ('ledger', $1, 'alice', 'a test')
		ON CONFLICT (consumer_group) DO UPDATE SET state = excluded.state`, state)
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
