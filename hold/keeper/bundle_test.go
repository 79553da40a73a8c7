package keeper_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/keeper"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

type bundle struct {
	*outboxtest.Database
	t *testing.T
}

func setup(t *testing.T) *bundle { return &bundle{Database: outboxtest.NewDatabase(t), t: t} }

func (b *bundle) keeper(cfg keeper.Config) *keeper.Keeper {
	b.t.Helper()
	k, err := keeper.New(b.Pool, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return k
}

// active registers a generation and stages one event in it.
func (b *bundle) active(opts ...hold.RegisterOption) outbox.Hold {
	b.t.Helper()
	h := outbox.Hold{Operation: uuid.New(), Generation: 1}
	if _, err := hold.Register(b.t.Context(), b.Pool, h, "test", opts...); err != nil {
		b.t.Fatal(err)
	}
	b.exec(`SELECT outbox.publish_held($1, 1, '/test', 'thing.made')`, h.Operation.String())
	return h
}

// overdue is active with an expiry that was an hour ago.
func (b *bundle) overdue(then hold.OnExpiry) outbox.Hold {
	b.t.Helper()
	h := b.active(hold.ExpireAt(time.Now().Add(time.Hour), then))
	b.exec(`UPDATE outbox.hold_generation SET expires_at = clock_timestamp() - interval '1 hour' WHERE operation_id = $1`, h.Operation)
	return h
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

func query[T any](b *bundle, sql string, args ...any) []T {
	b.t.Helper()
	return outboxtest.All[T](b.t, b.Pool, sql, args...)
}

func (b *bundle) pass(k *keeper.Keeper) *keeper.Report {
	b.t.Helper()
	r, err := k.Pass(b.t.Context())
	if err != nil {
		b.t.Fatalf("pass: %v", err)
	}
	return r
}

// wantState checks the state of a generation, and what was done to it after its registration.
func (b *bundle) wantState(h outbox.Hold, state hold.GenerationState, actions ...string) {
	b.t.Helper()
	g, err := hold.State(b.t.Context(), b.Pool, h)
	if err != nil || g.State != state {
		b.t.Errorf("state is %s with error %v, want %s", g.State, err, state)
	}
	got := query[string](b, `SELECT action FROM outbox.hold_audit WHERE operation_id = $1 AND action <> 'register' ORDER BY id`, h.Operation)
	if len(got) != len(actions) {
		b.t.Errorf("audit has %v, want %v", got, actions)
		return
	}
	for i := range got {
		if got[i] != actions[i] {
			b.t.Errorf("audit has %v, want %v", got, actions)
		}
	}
}

func (b *bundle) attempts(h outbox.Hold) int {
	b.t.Helper()
	page, err := hold.List(b.t.Context(), b.Pool, hold.Filter{Operation: h.Operation})
	if err != nil || len(page) != 1 {
		b.t.Fatalf("list: %v, %v", page, err)
	}
	return page[0].Attempts
}

// coordinator answers as it is told, and remembers what it was asked.
type coordinator struct {
	mu       sync.Mutex
	verdicts map[uuid.UUID]hold.Verdict
	asked    map[uuid.UUID]int
	during   func(context.Context, outbox.Hold) // while a question is open
}

var errAway = errors.New("coordinator is away")

func newCoordinator() *coordinator {
	return &coordinator{verdicts: map[uuid.UUID]hold.Verdict{}, asked: map[uuid.UUID]int{}}
}

func (c *coordinator) Resolve(ctx context.Context, h outbox.Hold) (hold.Verdict, error) {
	c.mu.Lock()
	c.asked[h.Operation]++
	verdict, known := c.verdicts[h.Operation]
	c.mu.Unlock()
	if c.during != nil {
		c.during(ctx, h)
	}
	if !known {
		return "", errAway
	}
	return verdict, nil
}

func (c *coordinator) questions(h outbox.Hold) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[h.Operation]
}
