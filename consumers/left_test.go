package consumers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestHandlersThatLeaveTheirConnectionWrong: it is an attempt that failed, and no outage that goes on for ever.
func TestHandlersThatLeaveTheirConnectionWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(context.Context, *facts.Tx) error
		want  error
	}{
		"with rows open": {func(ctx context.Context, tx *facts.Tx) error {
			_, err := tx.Query(ctx, "SELECT generate_series(1, 100000)")
			return err
		}, consumers.ErrUnread},
		"rolled back by SQL": {func(ctx context.Context, tx *facts.Tx) error {
			_, err := tx.Exec(ctx, "ROLLBACK")
			return err
		}, facts.ErrNotYours},
		"cut by the timeout, without its cause": {func(ctx context.Context, tx *facts.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_sleep(60)")
			return fmt.Errorf("hidden: %s", err.Error())
		}, consumers.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := b.config()
			cfg.HandleTimeout = 5 * time.Second
			a, err := consumers.NewApplier(b.Pool, func(ctx context.Context, tx *facts.Tx, e event.Event) error {
				if err := apply(ctx, tx, e); err != nil {
					return err
				}
				return c.leave(ctx, tx)
			}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Apply(t.Context(), newEvent(t, "event-1", refund{ID: "re_1", Account: "acct_1", Amount: 500}))
			if !errors.Is(err, c.want) || consumers.Classify(err) != consumers.Failed {
				t.Errorf("error is %v, of class %s, want %v", err, consumers.Classify(err), c.want)
			}
			b.wantEffects(0)
		})
	}
}

// TestOneConnectionIsEnough: neither proof waits for another one.
func TestOneConnectionIsEnough(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := outboxtest.NewPool(t, b.URL, func(c *pgxpool.Config) { c.MaxConns = 1 })
	own := b.config()
	own.Proof, own.Effects = proveRefund, nil
	for name, cfg := range map[string]consumers.Config{"the default": b.config(), "the service's own": own} {
		a, err := consumers.NewApplier(pool, apply, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := a.Apply(t.Context(), newEvent(t, "event "+name, refund{ID: name, Account: "acct_1", Amount: 500})); err != nil || r.Outcome != consumers.Applied {
			t.Errorf("%s: %s, %v", name, r.Outcome, err)
		}
	}
	b.wantEffects(2)
}
