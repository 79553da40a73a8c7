package consumers_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// batches is a configuration with several events to a transaction.
func (b *bundle) batches() consumers.Config {
	cfg := b.config()
	cfg.Batch, cfg.Concurrency = 10, 2
	return cfg
}

// gather has the handler wait at its first event until n others are there, so that the batches are full.
func (b *bundle) gather(handle consumers.Handler, cfg consumers.Config, publish func()) *running {
	b.t.Helper()
	began, all := make(chan struct{}), make(chan struct{})
	var first sync.Once
	cfg.Concurrency = 1
	r := b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		first.Do(func() {
			close(began)
			<-all
		})
		return handle(ctx, tx, e)
	}, cfg)
	b.publish("first", "refund.made", refund{ID: "re_first", Account: "acct_1", Amount: 500})
	<-began
	publish()
	b.wait("the others have arrived", func() bool {
		stream, err := b.js.Stream(b.t.Context(), streamName)
		return err == nil && b.metric("holdfast.consumer.held", "") == float64(stream.CachedInfo().State.Msgs)
	})
	close(all)
	return r
}

// transactions counts those that wrote effects.
func (b *bundle) transactions() int {
	return query[int](b, "SELECT count(DISTINCT xmin::text)::int FROM public.refund")[0]
}

// TestBatch: several events to a transaction, each proven, audited and acknowledged.
func TestBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.gather(apply, b.batches(), func() { b.some(30) })
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 31 })
	b.settled()
	b.wantEffects(31)
	if n := b.count("outbox.consumer_inbox"); n != 31 {
		t.Errorf("the inbox has %d deliveries, want 31", n)
	}
	if n := b.transactions(); n > 6 {
		t.Errorf("%d transactions, want 6 at most: batches of ten", n)
	}
}

// applyAll is a handler for batches as it should be.
func applyAll(ctx context.Context, batch []consumers.Delivered) error {
	tellings, told := make([]facts.Telling, len(batch)), make([]refund, len(batch))
	for i, d := range batch {
		fact, r, err := factOf(d.Event)
		if err != nil {
			return err
		}
		tellings[i], told[i] = facts.Telling{Tx: d.Tx, Fact: fact}, r
	}
	claims, err := facts.ClaimAll(ctx, tellings)
	if err != nil {
		return err
	}
	for i, c := range claims {
		if c.Outcome != facts.Applied {
			continue
		}
		_, err := batch[i].Tx.Exec(ctx, `INSERT INTO public.refund (fact_id, account, amount) VALUES ($1, $2, $3)`, c.ID, told[i].Account, told[i].Amount)
		if err != nil {
			return err
		}
	}
	return nil
}

// TestHandlerForBatches gets what is ready; what is alone goes to the other one, and so does each event of a
// batch in which one is bad.
func TestHandlerForBatches(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(context.Context, []consumers.Delivered) error{
		"none":                     nil,
		"an error":                 func(context.Context, []consumers.Delivered) error { return errBoom },
		"a panic":                  func(context.Context, []consumers.Delivered) error { panic("bad") },
		"one event without a fact": func(ctx context.Context, batch []consumers.Delivered) error { return applyAll(ctx, batch[1:]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.batches()
			var alone, batched atomic.Int64
			cfg.Together = func(ctx context.Context, batch []consumers.Delivered) error {
				batched.Add(int64(len(batch)))
				if bad != nil {
					return bad(ctx, batch)
				}
				return applyAll(ctx, batch)
			}
			b.gather(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				alone.Add(1)
				return apply(ctx, tx, e)
			}, cfg, func() { b.some(20) })
			b.wait("all are applied", func() bool { return b.deliveries("applied") == 21 })
			b.settled()
			b.wantEffects(21)
			want := int64(1)
			if bad != nil {
				want = 21
			}
			if a := alone.Load(); a != want || batched.Load() != 20 {
				t.Errorf("%d were handled alone, %d in batches, want %d and 20", a, batched.Load(), want)
			}
			if n := b.deliveries("failed"); n != 0 {
				t.Errorf("%v attempts were counted, want none", n)
			}
		})
	}
}

// TestBatchTellsOneFactTwice: the second telling is a replay, also within the transaction.
func TestBatchTellsOneFactTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.gather(apply, b.batches(), func() {
		for i := range 4 {
			b.publish(fmt.Sprint("telling-", i), "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 500})
		}
		b.publish("telling-otherwise", "refund.made", refund{ID: "re_1", Account: "acct_1", Amount: 501})
	})
	b.wait("all are settled", func() bool {
		return b.deliveries("applied") == 2 && b.deliveries("replayed") == 3 && b.deliveries("quarantined") == 1
	})
	b.settled()
	b.wantEffects(2)
	if n := b.count("outbox.consumer_quarantine"); n != 1 {
		t.Errorf("%d are in quarantine, want the one", n)
	}
}

// TestBatchKeepsTheOrderOfAKey, which is hot and shares its batches with others.
func TestBatchKeepsTheOrderOfAKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.batches()
	cfg.Key = func(e event.Event) string { return e.Type() }
	var mu sync.Mutex
	var order []string
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.Type() == "hot" {
			mu.Lock()
			order = append(order, e.ID())
			mu.Unlock()
		}
		return apply(ctx, tx, e)
	}, cfg)
	var want []string
	for i := range 40 {
		id := fmt.Sprintf("hot-%02d", i)
		want = append(want, id)
		b.publish(id, "hot", refund{ID: "re_" + id, Account: "acct_1", Amount: 500})
		b.publish(fmt.Sprint("cold-", i), fmt.Sprint("cold.", i), refund{ID: fmt.Sprint("re_cold_", i), Account: "acct_1", Amount: 500})
	}
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 80 })
	b.settled()
	b.wantEffects(80)
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(order, want) {
		t.Errorf("the key was handled as %q", order)
	}
}

// TestBadEventInABatch costs its neighbours nothing but time: they are applied once, and it is judged alone.
func TestBadEventInABatch(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]consumers.Handler{
		"an error":       func(context.Context, *facts.Tx, event.Event) error { return errBoom },
		"a panic":        func(context.Context, *facts.Tx, event.Event) error { panic("bad") },
		"without a fact": func(context.Context, *facts.Tx, event.Event) error { return nil },
		"swallowed": func(ctx context.Context, tx *facts.Tx, _ event.Event) error {
			_, _ = tx.Exec(ctx, "SELECT 1/0")
			return nil
		},
		"without an effect": func(ctx context.Context, tx *facts.Tx, e event.Event) error {
			fact, _, err := factOf(e)
			if err == nil {
				_, err = facts.Claim(ctx, tx, fact)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.batches()
			cfg.Attempts = 2
			b.gather(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				if e.ID() == "bad" {
					return bad(ctx, tx, e)
				}
				return apply(ctx, tx, e)
			}, cfg, func() {
				b.some(4)
				b.publish("bad", "refund.made", refund{ID: "re_bad", Account: "acct_1", Amount: 500})
				b.some(4)
			})
			b.wait("all are settled", func() bool { return b.deliveries("applied") == 9 && b.deliveries("dead") == 1 })
			b.settled()
			b.wantEffects(9)
			if got := query[string](b, "SELECT event_id FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "bad" {
				t.Errorf("dead letters are %q, want the bad one", got)
			}
			if n := query[int32](b, "SELECT attempts FROM outbox.consumer_dead_letter WHERE event_id = 'bad'"); len(n) != 1 || n[0] != 2 {
				t.Errorf("its attempts are %v, want 2: the batch counted none", n)
			}
		})
	}
}

// TestBatchIsLost with the database: nothing is applied twice and nothing is counted.
func TestBatchIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		match  func(*fault.PostgresMessage) bool
		action fault.PostgresAction
	}{
		"at an effect":      {fault.Executes("INSERT INTO public.refund"), fault.CutBefore()},
		"at the inbox":      {fault.Executes("INSERT INTO outbox.consumer_inbox"), fault.CutAfter()},
		"before the commit": {fault.Commits, fault.CutBefore()},
		"after the commit":  {fault.Commits, fault.CutAfter()},
		"a deadlock":        {fault.Executes("INSERT INTO public.refund"), fault.Fail("40P01")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool, proxy := b.proxied()
			cfg := b.batches()
			cfg.Attempts = 1
			// The first transaction is alone; the fault meets the one with the batch.
			var armed atomic.Bool
			h := proxy.Add(fault.PostgresRule{Match: func(m *fault.PostgresMessage) bool { return armed.Load() && c.match(m) }, Do: c.action, Times: 1})
			direct := b.Pool
			b.Pool = pool
			b.gather(apply, cfg, func() { b.some(20) })
			b.Pool = direct
			armed.Store(true)
			b.wait("all are acknowledged", func() bool { return b.deliveries("applied")+b.deliveries("replayed") == 21 })
			b.settled()
			b.wantEffects(21)
			if h.Hits() != 1 {
				t.Errorf("the fault happened %d times, want once", h.Hits())
			}
			if n := b.count("outbox.consumer_dead_letter"); n != 0 || b.deliveries("failed") != 0 {
				t.Errorf("%d dead letters and %v attempts of an outage", n, b.deliveries("failed"))
			}
		})
	}
}

// TestBatchIsUnproven after its commit: none is acknowledged for it, and each is proven alone.
func TestBatchIsUnproven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.batches()
	var refused atomic.Bool
	cfg.Proof, cfg.Effects = func(ctx context.Context, db consumers.Querier, c facts.Claimed) (consumers.Evidence, error) {
		if _, transaction := db.(pgx.Tx); !transaction && c.Key.String() == "refund=re_3" && refused.CompareAndSwap(false, true) {
			return consumers.Evidence{}, errBoom
		}
		return proveRefund(ctx, db, c)
	}, nil
	b.gather(apply, cfg, func() { b.some(5) })
	b.wait("all are acknowledged", func() bool { return b.deliveries("applied")+b.deliveries("replayed") == 6 })
	b.settled()
	b.wantEffects(6)
	if n := b.deliveries("replayed"); !refused.Load() || n != 5 {
		t.Errorf("%v were proven alone, want 5", n)
	}
}

// TestPausedBatch: the switch is read by the last statement of the batch too.
func TestPausedBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	control, err := consumers.NewControl(b.Pool, "")
	if err != nil {
		t.Fatal(err)
	}
	inside, goOn := make(chan struct{}), make(chan struct{})
	b.gather(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if e.ID() == "event-3" {
			select {
			case inside <- struct{}{}:
				<-goOn
			default:
			}
		}
		return apply(ctx, tx, e)
	}, b.batches(), func() { b.some(5) })
	<-inside
	if _, err := control.Pause(t.Context(), "ledger", "me", "a repair"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	b.wait("they are given back", func() bool { return b.deliveries("paused") >= 5 })
	b.wantEffects(1)
	if _, err := control.Resume(t.Context(), "ledger", "me", "repaired"); err != nil {
		t.Fatal(err)
	}
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 6 })
	b.settled()
	b.wantEffects(6)
}

// TestBatchesOfSeveralInstances that are told the same facts by two types of events, in opposite order.
func TestBatchesOfSeveralInstances(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		b.run(apply, b.batches())
	}
	const n = 60
	for i := range n {
		for _, told := range []struct {
			eventType string
			fact      int
		}{{"refund.made", i}, {"charge.refunded", n - 1 - i}} {
			b.publish(fmt.Sprint(told.eventType, i), told.eventType, refund{ID: fmt.Sprint("re_", told.fact), Account: "acct_1", Amount: 500})
		}
	}
	b.wait("all are settled", func() bool { return b.deliveries("applied")+b.deliveries("replayed") >= 2*n })
	b.settled()
	b.wantEffects(n)
	if d := b.count("outbox.consumer_dead_letter"); d != 0 {
		t.Errorf("%d dead letters, want none", d)
	}
}
