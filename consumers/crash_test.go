package consumers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// proxied returns a pool whose connections a test can cut.
func (b *bundle) proxied() (*pgxpool.Pool, *fault.PostgresProxy) {
	b.t.Helper()
	proxy, err := fault.NewPostgresProxy(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			b.t.Error(err)
		}
	})
	url, err := proxy.URL(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	pool := outboxtest.NewPool(b.t, url)
	return pool, proxy
}

// TestDatabaseIsLostAtEachStatement: whatever was not committed is delivered again, whatever was
// is proven; nothing is counted.
func TestDatabaseIsLostAtEachStatement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		match  func(*fault.PostgresMessage) bool
		action fault.PostgresAction
	}{
		"at the begin":                    {fault.Begins, fault.CutBefore()},
		"at the claim":                    {fault.Executes("INSERT INTO outbox.consumer_fact"), fault.CutAfter()},
		"at the effect":                   {fault.Executes("INSERT INTO public.refund"), fault.CutBefore()},
		"at the proof in the transaction": {fault.Executes(`JOIN "public"."refund"`), fault.CutBefore()},
		"at the inbox":                    {fault.Executes("INSERT INTO outbox.consumer_inbox"), fault.CutAfter()},
		"before the commit":               {fault.Commits, fault.CutBefore()},
		"after the commit":                {fault.Commits, fault.CutAfter()},
		"idle for too long":               {fault.Commits, fault.FailFatally("25P03")},
		"the server is full":              {fault.Begins, fault.Fail("53300")},
		"a deadlock":                      {fault.Executes("INSERT INTO public.refund"), fault.Fail("40P01")},
		"the server shuts down":           {fault.Executes("INSERT INTO public.refund"), fault.FailFatally("57P01")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool, proxy := b.proxied()
			cfg := b.config()
			cfg.Attempts = 1
			h := proxy.Add(fault.PostgresRule{Match: c.match, Do: c.action, Times: 1})
			b.runWith(pool, b.connect(), apply, cfg)
			b.some(2)
			b.wait("both are acknowledged", func() bool { return b.deliveries("applied")+b.deliveries("replayed") == 2 })
			b.settled()
			b.wantEffects(2)
			if h.Hits() != 1 {
				t.Errorf("the fault happened %d times, want once", h.Hits())
			}
			if n := b.count("outbox.consumer_dead_letter"); n != 0 || b.deliveries("failed") != 0 {
				t.Errorf("%d dead letters and %v attempts of an outage", n, b.deliveries("failed"))
			}
		})
	}
}

// TestDiesAfterTheCommit: before the broker knows, and the next delivery proves and acknowledges.
func TestDiesAfterTheCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	nc := b.connect()
	committed := make(chan struct{})
	var proofs atomic.Int64
	cfg.Proof, cfg.Effects = func(ctx context.Context, db consumers.Querier, c facts.Claimed) (found consumers.Evidence, err error) {
		if proofs.Add(1) == 2 { // the one after the commit
			nc.Close()
			close(committed)
		}
		return proveRefund(ctx, db, c)
	}, nil
	r := b.runWith(b.Pool, nc, apply, cfg)
	b.some(1)
	<-committed
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	b.wantEffects(1)
	c, err := b.js.Consumer(t.Context(), streamName, "ledger")
	if err != nil || c.CachedInfo().NumAckPending != 1 {
		t.Fatalf("%d messages wait for an answer, %v, want the one", c.CachedInfo().NumAckPending, err)
	}
	b.run(apply, cfg)
	b.wait("replayed", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
}

func proveRefund(ctx context.Context, db consumers.Querier, c facts.Claimed) (found consumers.Evidence, err error) {
	err = db.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE r.amount::text = $2 AND r.account = $3) FROM public.refund AS r WHERE r.fact_id = $1",
		c.ID, c.Attributes["amount"], c.Account).Scan(&found.Effects, &found.Matching)
	return found, err
}

// TestProofThatIsImpossibleAcknowledgesNothing, after the commit as before it.
func TestProofThatIsImpossibleAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Attempts = 1
	var proofs atomic.Int64
	cfg.Proof, cfg.Effects = func(ctx context.Context, db consumers.Querier, c facts.Claimed) (consumers.Evidence, error) {
		if _, transaction := db.(pgx.Tx); !transaction && proofs.Add(1) < 4 {
			return consumers.Evidence{}, errBoom
		}
		return proveRefund(ctx, db, c)
	}, nil
	b.run(apply, cfg)
	b.some(1)
	b.wait("proven at last", func() bool { return b.deliveries("replayed") == 1 })
	b.settled()
	b.wantEffects(1)
	if o, a := b.deliveries("outage"), b.deliveries("applied"); o != 3 || a != 0 {
		t.Errorf("%v outages and %v applied, want 3 and 0", o, a)
	}
}

// TestAuditThatFailsKeepsNoMessage: the effect is proven, and somebody is told.
func TestAuditThatFailsKeepsNoMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("ALTER TABLE outbox.consumer_inbox ADD CONSTRAINT broken CHECK (event_id <> 'event-1')")
	cfg := b.config()
	cfg.Attempts = 1
	b.run(apply, cfg)
	b.some(2)
	b.wait("both are applied", func() bool { return b.deliveries("applied") == 2 })
	b.settled()
	b.wantEffects(2)
	if n := b.metric("holdfast.consumer.audit.failures", ""); n != 1 {
		t.Errorf("%v defects were counted, want 1", n)
	}
}

// TestBrokerRestarts under load: nothing is lost and nothing is applied twice.
func TestBrokerRestarts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(apply, b.config())
	b.some(40)
	b.wait("it has begun", func() bool { return b.count("public.refund") > 5 })
	for range 2 {
		b.nats.Stop()
		if err := b.nats.Start(); err != nil {
			t.Fatal(err)
		}
		b.wait("it goes on", func() bool {
			_, err := b.js.Publish(t.Context(), "events.foreign", nil)
			return err == nil
		})
		b.some(10)
	}
	b.wait("all have their effect", func() bool { return b.count("public.refund") == 60 })
	b.settled()
	b.wantEffects(60)
}

// TestDatabaseRestarts while events come: it is an outage, and counts nothing.
func TestDatabaseRestarts(t *testing.T) {
	t.Parallel()
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{})
	b := setupIn(t, outboxtest.NewDatabaseIn(t, pg))
	cfg := b.config()
	cfg.Attempts = 1
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.ID() == "poison" {
			return errBoom
		}
		return apply(ctx, tx, e)
	}, cfg)
	b.some(20)
	b.wait("it has begun", func() bool { return b.count("public.refund") > 0 })
	pg.Kill()
	b.some(10)
	b.publish("poison", "refund.made", refund{ID: "re_p", Account: "acct_1", Amount: 500})
	b.wait("the outage is met", func() bool { return b.deliveries("outage") > 3 })
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wait("all have their effect", func() bool {
		var n int
		err := b.Pool.QueryRow(t.Context(), "SELECT count(*) FROM public.refund").Scan(&n)
		return err == nil && n == 30
	})
	b.wait("the poison is told apart", func() bool { return b.deliveries("dead") == 1 })
	b.settled()
	b.wantEffects(30)
	if got := query[string](b, "SELECT event_id FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "poison" {
		t.Errorf("dead letters are %q, want the poison", got)
	}
}

// TestSeveralInstances with a handler that fails first: one effect each.
func TestSeveralInstances(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var failed sync.Map
	handle := func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := apply(ctx, tx, e); err != nil {
			return err
		}
		if _, before := failed.LoadOrStore(e.ID(), true); !before {
			return errBoom
		}
		return nil
	}
	for range 3 {
		b.run(handle, b.config())
	}
	b.some(30)
	b.wait("all have their effect", func() bool { return b.count("public.refund") == 30 })
	b.settled()
	b.wantEffects(30)
	if n := b.deliveries("failed"); n != 30 {
		t.Errorf("%v attempts failed, want 30", n)
	}
}

// TestOtherLanguageOfMessages: everything is told by SQLSTATE, in a batch of fresh events, replays and violations.
func TestOtherLanguageOfMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// The text of an error has not to be read: a server that speaks about everything in another way.
	b.exec(`CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'connection closed, deadlock detected, doppelter Schlüsselwert' USING ERRCODE = '23505'; END $$`)
	b.exec("CREATE TRIGGER refuse BEFORE INSERT ON public.refund FOR EACH ROW WHEN (NEW.amount = 13) EXECUTE FUNCTION public.refuse()")
	cfg := b.config()
	cfg.Attempts = 2
	b.some(3)
	b.next = 0
	b.some(4) // three again, and a fresh one
	b.publish("violates", "refund.made", refund{ID: "re_13", Account: "acct_1", Amount: 13})
	b.run(apply, cfg)
	b.wait("all are settled", func() bool {
		return b.deliveries("applied") == 4 && b.deliveries("replayed") == 3 && b.deliveries("dead") == 1
	})
	b.settled()
	b.wantEffects(4)
	if got := query[string](b, "SELECT event_id || ' ' || reason_code FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "violates exhausted" {
		t.Errorf("dead letters are %q", got)
	}
	if log := b.log.String(); !strings.Contains(log, "sqlstate 23505") {
		t.Error("the log does not name the SQLSTATE")
	}
}

// TestFailedDeliveryHoldsNothing while it waits: neither a transaction nor a lock.
func TestFailedDeliveryHoldsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.RetryMin, cfg.RetryMax, cfg.OutageMax = time.Hour, time.Hour, time.Hour
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := apply(ctx, tx, e); err != nil {
			return err
		}
		return errBoom
	}, cfg)
	b.some(1)
	b.wait("it failed", func() bool { return b.deliveries("failed") == 1 })
	open := query[int](b, "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'")[0]
	if open != 0 {
		t.Errorf("%d transactions are open", open)
	}
	if r, err := mustApplier(b, b.config()).Apply(t.Context(), newEvent(t, "another", refund{ID: "re_1", Account: "acct_1", Amount: 500})); err != nil || r.Outcome != consumers.Applied {
		t.Errorf("the fact is not free: %v, %v", r.Outcome, err)
	}
}

// TestClassify judges by type and SQLSTATE.
func TestClassify(t *testing.T) {
	t.Parallel()
	for want, errs := range map[consumers.Class][]error{
		"":                          {nil},
		consumers.Failed:            {errBoom, consumers.ErrNoFact, consumers.ErrTimeout, consumers.ErrSwallowed, &consumers.ProofError{}, &consumers.PanicError{}, context.DeadlineExceeded},
		consumers.PermanentlyFailed: {consumers.Permanent(errBoom), fmt.Errorf("x: %w", &facts.FactError{}), &facts.KeyError{}},
		consumers.Outage:            {consumers.Unavailable(errBoom), consumers.ErrUnknownCommit, consumers.Unavailable(consumers.Permanent(errBoom))},
		consumers.Again:             {facts.ErrVanished},
		consumers.Held:              {consumers.ErrPaused},
	} {
		for _, err := range errs {
			if got := consumers.Classify(err); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
	for want, codes := range map[consumers.Class][]string{
		consumers.Failed: {"23505", "23514", "22P02", "25P02", "P0001", "42601", ""},
		consumers.Outage: {"08006", "28P01", "53300", "57P01", "57014", "58030", "XX000", "25006", "42501", "42P01", "55P03", "3F000"},
		consumers.Again:  {"40001", "40P01"},
	} {
		for _, code := range codes {
			if got := consumers.Classify(fmt.Errorf("x: %w", &pgconn.PgError{Code: code})); got != want {
				t.Errorf("%s is %s, want %s", code, got, want)
			}
		}
	}
	if consumers.Permanent(nil) != nil || consumers.Unavailable(nil) != nil {
		t.Error("nil is an error")
	}
	if !errors.Is(consumers.Permanent(errBoom), errBoom) {
		t.Error("the cause is lost")
	}
}
