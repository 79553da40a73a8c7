package consumers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// gate keeps handlers that do not look at their contexts. It opens before the pool of the test is closed.
type gate struct {
	once sync.Once
	open chan struct{}
}

func newGate(t *testing.T) *gate {
	g := &gate{open: make(chan struct{})}
	t.Cleanup(g.opens)
	return g
}

func (g *gate) opens() { g.once.Do(func() { close(g.open) }) }

// hanging is a configuration in which a handler is soon left to itself.
func (b *bundle) hanging() consumers.Config {
	cfg := b.config()
	cfg.HandleTimeout, cfg.SettleTimeout, cfg.StopTimeout = 2*time.Second, 500*time.Millisecond, 100*time.Millisecond
	cfg.MeasureEvery = 100 * time.Millisecond
	return cfg
}

// TestHandlerThatDoesNotComeBack: its transaction is ended, so that nobody waits for its facts, the message and those
// behind it go on, and somebody is told.
func TestHandlerThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims bool // it hangs with its fact claimed and its effect written
		batch  bool // it is the handler of batches
		key    string
	}{
		"before its claim":                 {},
		"behind its claim":                 {claims: true},
		"with others of its key behind it": {claims: true, key: "one"},
		"in a batch":                       {claims: true, batch: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.hanging()
			cfg.Key = func(e event.Event) string {
				if c.key != "" {
					return c.key
				}
				return e.ID()
			}
			g := newGate(t)
			var first atomic.Bool
			hang := func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				if !first.CompareAndSwap(false, true) {
					return apply(ctx, tx, e)
				}
				if c.claims {
					if err := apply(ctx, tx, e); err != nil {
						t.Error(err)
					}
				}
				<-g.open // it does not look at its context
				if !c.claims {
					return apply(ctx, tx, e)
				}
				return nil
			}
			if c.batch {
				cfg.Batch = 4
				cfg.Together = func(ctx context.Context, batch []consumers.Delivered) error {
					for _, d := range batch {
						if err := hang(ctx, d.Tx, d.Event); err != nil {
							return err
						}
					}
					return nil
				}
			}
			b.some(6)
			stuck := b.run(hang, cfg)
			b.wait("somebody is told", func() bool { return b.metric("holdfast.consumer.silences", "") > 0 })
			b.wait("all are applied", func() bool { return b.count("public.refund") == 6 })
			b.settled()
			g.opens()
			if err := stuck.end(); err != nil {
				t.Error(err)
			}
			b.wantEffects(6)
			if n := b.count("outbox.consumer_dead_letter"); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
}

// TestOneEventHangsWithTheDefaults: it is a dead letter at last, with a pool of the recommended size, and all others are
// applied. The consumer can be stopped, and the pool closed, while its handlers hang.
func TestOneEventHangsWithTheDefaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.hanging()
	cfg.HandleTimeout, cfg.SettleTimeout = 500*time.Millisecond, 250*time.Millisecond
	cfg.Concurrency, cfg.Attempts = 0, 0 // 8 and 10
	pool := outboxtest.NewPool(t, b.URL, func(c *pgxpool.Config) { c.MaxConns = 10 })
	g := newGate(t)
	r := b.runWith(pool, b.connect(), func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		err := apply(ctx, tx, e)
		if e.ID() == "poison" {
			<-g.open
		}
		return err
	}, cfg)
	b.publish("poison", "refund.made", refund{ID: "re_p", Account: "acct_1", Amount: 1})
	b.some(3)
	b.wait("the others are applied", func() bool { return b.count("public.refund") == 3 })
	b.wait("it is given up", func() bool { return b.count("outbox.consumer_dead_letter") == 1 })
	b.settled()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("the pool cannot be closed while handlers hang")
	}
	b.wantEffects(3)
	if got := query[string](b, "SELECT event_id || ' ' || attempts || ' ' || reason_code FROM outbox.consumer_dead_letter"); len(got) != 1 || got[0] != "poison 10 exhausted" {
		t.Errorf("dead letters are %q", got)
	}
}

// TestEveryHandlerHangs: the instance is sick, so it takes nothing more and counts nothing more, and another instance
// applies what it gives back.
func TestEveryHandlerHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.hanging()
	cfg.HandleTimeout, cfg.SettleTimeout = 300*time.Millisecond, 200*time.Millisecond
	cfg.Concurrency, cfg.Attempts = 2, 3
	g := newGate(t)
	var began atomic.Int64
	sick := b.run(func(context.Context, *facts.Tx, event.Event) error {
		began.Add(1)
		<-g.open
		return errors.New("too late")
	}, cfg)
	b.some(40)
	b.wait("five handlers hang", func() bool { return began.Load() >= 5 })
	b.wait("it gives back what it has", func() bool { return b.deliveries("outage") > 0 })
	sound := b.config()
	sound.Attempts = cfg.Attempts
	b.run(apply, sound)
	// Two that were begun when the fifth hung may hang too, and an event may have had its three attempts here.
	b.wait("another instance applies the others", func() bool { return b.count("public.refund")+b.count("outbox.consumer_dead_letter") == 40 })
	b.settled()
	if n := began.Load(); n > 7 {
		t.Errorf("%d handlers were begun by a sick instance", n)
	}
	if n := b.count("outbox.consumer_dead_letter"); n > 2 {
		t.Errorf("%d dead letters of a sick instance", n)
	}
	if err := sick.end(); err != nil {
		t.Error(err)
	}
}

// applier is one whose limits are short.
func (b *bundle) applier(pool *pgxpool.Pool, handle consumers.Handler) *consumers.Applier {
	b.t.Helper()
	cfg := b.hanging()
	cfg.HandleTimeout = time.Second
	a, err := consumers.NewApplier(pool, handle, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// TestHangAfterACommitThatLost: the first try loses at its commit, and the second hangs before its own. It is the handler
// that does not come back, and its transaction ends.
func TestHangAfterACommitThatLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("CREATE SEQUENCE public.losses")
	b.exec(`CREATE FUNCTION public.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('public.losses') = 1 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$`)
	b.exec("CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON public.refund DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.lose()")
	g := newGate(t)
	var tries atomic.Int64
	a := b.applier(b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		err := apply(ctx, tx, e)
		if tries.Add(1) == 2 {
			<-g.open
		}
		return err
	})
	e := newEvent(t, "event-1", refund{ID: "re_1", Account: "acct_1", Amount: 500})
	_, err := a.Apply(t.Context(), e)
	if !errors.Is(err, consumers.ErrTimeout) || consumers.Classify(err) != consumers.Failed || tries.Load() != 2 {
		t.Errorf("after %d tries: class %s of %v", tries.Load(), consumers.Classify(err), err)
	}
	if r, err := a.Apply(t.Context(), e); err != nil || r.Outcome != consumers.Applied {
		t.Errorf("while it hangs: %s, %v", r.Outcome, err)
	}
	b.wantEffects(1)
}

// TestClaimThatWaitsForALock takes too long while the database answers, whatever came before it.
func TestClaimThatWaitsForALock(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"as the first statement": "", "behind another one": "SELECT 1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			tx, err := b.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context()) //nolint:errcheck // ends with the test
			outboxtest.Exec(t, tx, "LOCK TABLE outbox.consumer_fact IN ACCESS EXCLUSIVE MODE")
			a := b.applier(b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				if before != "" {
					if _, err := tx.Exec(ctx, before); err != nil {
						return err
					}
				}
				return apply(ctx, tx, e)
			})
			_, err = a.Apply(t.Context(), newEvent(t, "event-1", refund{ID: "re_1", Account: "acct_1", Amount: 500}))
			if !errors.Is(err, consumers.ErrTimeout) || consumers.Classify(err) != consumers.Failed {
				t.Errorf("class %s of %v", consumers.Classify(err), err)
			}
		})
	}
}

// TestConnectionOfAHangIsNobodysAgain: wherever the handler hung, and whatever it does when it comes back.
func TestConnectionOfAHangIsNobodysAgain(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]bool{"before its claim": false, "behind its claim": true} {
		for then, result := range map[string]error{"comes back well": nil, "comes back with an error": errBoom} {
			t.Run(fmt.Sprint(name, " and ", then), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				pool := outboxtest.NewPool(t, b.URL, func(c *pgxpool.Config) { c.MaxConns = 1 })
				g, back := newGate(t), make(chan struct{})
				a := b.applier(pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
					defer close(back)
					if claims {
						if err := apply(ctx, tx, e); err != nil {
							return err
						}
					}
					<-g.open
					return result
				})
				if _, err := a.Apply(t.Context(), newEvent(t, "event-1", refund{ID: "re_1", Account: "acct_1", Amount: 500})); !errors.Is(err, consumers.ErrTimeout) {
					t.Errorf("error is %v", err)
				}
				g.opens()
				<-back
				for range 20 { // of one connection
					if _, err := pool.Exec(t.Context(), "SELECT 1"); err != nil {
						t.Fatal(err)
					}
				}
				b.wantEffects(0)
			})
		}
	}
}

// TestBusyIsNotSilent: an instance whose handlers take their time, and which has all that it can hold, is asked nothing.
func TestBusyIsNotSilent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.config()
	cfg.Concurrency, cfg.Buffer = 1, 1
	cfg.FetchWait, cfg.SilentAfter, cfg.MeasureEvery = 100*time.Millisecond, 2*time.Second, 100*time.Millisecond
	var looks atomic.Int64
	if _, err := b.js.Conn().Subscribe("$JS.API.CONSUMER.INFO."+streamName+".ledger", func(*nats.Msg) { looks.Add(1) }); err != nil {
		t.Fatal(err)
	}
	b.run(func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		began, before := time.Now(), looks.Load()
		b.wait("several looks at the consumer, for longer than it may be silent", func() bool {
			return time.Since(began) > cfg.SilentAfter+time.Second && looks.Load() >= before+5
		})
		return apply(ctx, tx, e)
	}, cfg)
	b.some(2)
	b.wait("all are applied", func() bool { return b.deliveries("applied") == 2 })
	b.settled()
	if n := b.metric("holdfast.consumer.silences", ""); n != 0 {
		t.Errorf("%v silences of a busy consumer", n)
	}
}
