package saga_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestRenewalNeedsItsTokenAndALiveLease: each other case loses the lease, and changes nothing.
func TestRenewalNeedsItsTokenAndALiveLease(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for name, set := range map[string]string{
		"stolen":     `lease_holder = gen_random_uuid()`,
		"over":       `lease_expires_at = clock_timestamp() - interval '1 ms'`,
		"taken":      `state = 'compensating'`,
		"completed":  `state = 'completed', result = '{}', lease_holder = NULL, lease_expires_at = NULL`,
		"generation": `generation = 2`,
	} {
		id := b.draft()
		won := b.win(b.request(id))
		if err := b.store.Renew(t.Context(), b.Pool, won.Claim); err != nil {
			t.Errorf("live: %v", err)
		}
		b.exec(`UPDATE outbox.saga_operation SET `+set+` WHERE operation_id = $1`, id)
		row := `SELECT o::text FROM outbox.saga_operation o WHERE operation_id = $1`
		before := read[string](t, b.Pool, row, id)
		if err := b.store.Renew(t.Context(), b.Pool, won.Claim); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
		if ours, err := b.store.LetGo(t.Context(), b.Pool, won.Claim); err != nil || ours {
			t.Errorf("%s: let go: %v, %v", name, ours, err)
		}
		if after := read[string](t, b.Pool, row, id); after != before {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
}

// TestRenewalsDoNotAddUp: a lease is never longer than one lease.
func TestRenewalsDoNotAddUp(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	won := b.win(b.request(b.draft()))
	for range 1000 {
		if err := b.store.Renew(t.Context(), b.Pool, won.Claim); err != nil {
			t.Fatal(err)
		}
	}
	if left := read[time.Duration](t, b.Pool, `SELECT lease_expires_at - clock_timestamp() FROM outbox.saga_operation`); left > b.store.Settings().Lease {
		t.Errorf("the lease lasts %s", left)
	}
}

// quick are settings under which a heartbeat can be waited for.
var quick = saga.Settings{Lease: time.Minute, Heartbeat: 5 * time.Millisecond}

// TestHeartbeatKeepsUpWithABlockedStep: it does not wait for the work.
func TestHeartbeatKeepsUpWithABlockedStep(t *testing.T) {
	t.Parallel()
	b := setupWith(t, quick)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	do := work.Steps[0].Do
	work.Steps[0].Do = func(ctx context.Context, call saga.Call) (string, error) {
		for range 3 {
			expires := read[time.Time](t, b.Pool, `SELECT lease_expires_at FROM outbox.saga_operation`)
			b.until("the lease is renewed", func() bool {
				return read[time.Time](t, b.Pool, `SELECT lease_expires_at FROM outbox.saga_operation`).After(expires)
			})
		}
		return do(ctx, call)
	}
	if _, err := c.Run(t.Context(), won, work); err != nil {
		t.Fatal(err)
	}
}

// TestHeartbeatHasAPoolOfItsOwn: workers that use up the other one do not hold it up.
func TestHeartbeatHasAPoolOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setupWith(t, quick)
	pool, err := pgxpool.New(t.Context(), b.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	c, err := saga.NewCoordinator(b.Pool, b.store, map[string]saga.Participants{kind: {"people": b.desk}}, saga.Options{LeasePool: pool})
	if err != nil {
		t.Fatal(err)
	}
	won := b.win(b.request(b.draft()))
	work := b.work(won)
	do := work.Steps[0].Do
	work.Steps[0].Do = func(ctx context.Context, call saga.Call) (string, error) {
		for range b.Pool.Config().MaxConns {
			conn, err := b.Pool.Acquire(ctx)
			if err != nil {
				return "", err
			}
			defer conn.Release()
		}
		const sql = `SELECT lease_expires_at FROM outbox.saga_operation`
		expires := read[time.Time](t, pool, sql)
		b.until("the lease is renewed", func() bool { return read[time.Time](t, pool, sql).After(expires) })
		return do(ctx, call)
	}
	if _, err := c.Run(t.Context(), won, work); err != nil {
		t.Fatal(err)
	}
}

// TestLostLeaseStopsTheWork: the context of the step ends, its cause is the loss, and nothing else is
// called.
func TestLostLeaseStopsTheWork(t *testing.T) {
	t.Parallel()
	b := setupWith(t, quick)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	work.Steps[0].Do = func(ctx context.Context, _ saga.Call) (string, error) {
		b.exec(`UPDATE outbox.saga_operation SET lease_holder = gen_random_uuid()`)
		wait(t, "the step is told", ctx.Done())
		if cause := context.Cause(ctx); !errors.Is(cause, saga.ErrLeaseLost) {
			t.Errorf("cause is %v", cause)
		}
		return "", ctx.Err()
	}
	work.Steps[1].Do = func(context.Context, saga.Call) (string, error) {
		t.Error("it went on")
		return "", errDied
	}
	if _, err := c.Run(t.Context(), won, work); !errors.Is(err, saga.ErrLeaseLost) {
		t.Errorf("run: %v", err)
	}
	b.wantState(id, saga.StateInProgress)
}

// outage is a pool whose database is away while the switch is on.
type outage struct {
	*pgxpool.Pool
	away  atomic.Bool
	tried chan struct{} // receives when a connection was refused, if somebody waits
}

func (b *bundle) outage() *outage {
	b.t.Helper()
	o := &outage{tried: make(chan struct{})}
	config, err := pgxpool.ParseConfig(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	config.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) { return !o.away.Load(), nil }
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if !o.away.Load() {
			return nil
		}
		select {
		case o.tried <- struct{}{}:
		default:
		}
		return errDied
	}
	if o.Pool, err = pgxpool.NewWithConfig(b.t.Context(), config); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(o.Close)
	return o
}

// TestHeartbeatGivesUpAfterAWholeLease: while the database of the lease is away it is tried again, and one
// renewal that comes through is enough; when none did for a whole lease the work stops, although
// nobody took the operation.
func TestHeartbeatGivesUpAfterAWholeLease(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	b := setupWith(t, saga.Settings{Lease: lease, Heartbeat: 20 * time.Millisecond, ParticipantTimeout: lease * 3 / 4, Margin: time.Millisecond})
	o := b.outage()
	c, err := saga.NewCoordinator(b.Pool, b.store, map[string]saga.Participants{kind: {"people": b.desk}}, saga.Options{LeasePool: o.Pool, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	id := b.draft()
	won := b.win(b.request(id))
	refused := func(ctx context.Context) error {
		select {
		case <-o.tried:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var back time.Time
	last := 0
	work := saga.Work{Final: b.final(won)}
	for i := range 1000 {
		key, err := receipt.Indexed("person", i)
		if err != nil {
			t.Fatal(err)
		}
		work.Steps = append(work.Steps, saga.Step{Key: key, Kind: "person", Do: func(ctx context.Context, _ saga.Call) (string, error) {
			last = i
			if i > 0 { // each of them lasts until a renewal has failed
				o.away.Store(true)
				return "made", refused(ctx)
			}
			o.away.Store(true)
			for range 3 {
				back = time.Now() // the renewal that comes through begins after the last of them
				if err := refused(ctx); err != nil {
					return "", err
				}
			}
			expires := read[time.Time](t, b.Pool, `SELECT lease_expires_at FROM outbox.saga_operation`)
			o.away.Store(false)
			b.until("the lease is renewed", func() bool {
				return read[time.Time](t, b.Pool, `SELECT lease_expires_at FROM outbox.saga_operation`).After(expires)
			})
			return "made", nil
		}})
	}
	if _, err := c.Run(t.Context(), won, work); !errors.Is(err, saga.ErrLeaseLost) {
		t.Errorf("run: %v", err)
	}
	if after := time.Since(back); after < lease || last == 0 || last == 999 {
		t.Errorf("it gave up after %s, in step %d", after, last)
	}
	b.wantState(id, saga.StateInProgress)
}
