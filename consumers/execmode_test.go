package consumers_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/people"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// poolIn is a pool of the database in a mode of pgx.
func (b *bundle) poolIn(mode pgx.QueryExecMode) *pgxpool.Pool {
	b.t.Helper()
	return outboxtest.NewPool(b.t, b.URL, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
}

// TestEveryProtocolMode: claim, proof, quarantine, dead letter, replay and the switch work in every mode of pgx,
// also in those that a transaction pooler needs, alone and in batches.
func TestEveryProtocolMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			b := setup(t)
			b.inMode(b.poolIn(mode))
		})
	}
}

func (b *bundle) inMode(pool *pgxpool.Pool) {
	store, err := people.New(pool, "")
	if err != nil {
		b.t.Fatal(err)
	}
	control, err := consumers.NewControl(pool, "")
	if err != nil {
		b.t.Fatal(err)
	}
	cfg := b.replaying()
	var mended atomic.Bool
	alone := b.runWith(pool, b.connect(), broken(&mended), cfg)
	b.publish("malformed", "refund.made", refund{ID: "re_0", Account: `the "träger"'s \ {account}, NULL`, Amount: 100})
	b.wait("it is dead", func() bool { return slices.Equal(b.letterStates(), []string{"dead 1"}) })
	b.request(1)
	b.wait("it fails again", func() bool { return slices.Equal(b.letterStates(), []string{"dead 2"}) })
	mended.Store(true)
	b.some(2)
	b.wait("two are applied", func() bool { return b.deliveries("applied") == 2 })
	again := refund{ID: "re_1", Account: "acct_1", Amount: 500}
	b.publish("again", "charge.refunded", again)
	b.wait("one is replayed", func() bool { return b.deliveries("replayed") == 1 })
	again.Amount = 501
	b.publish("differs", "refund.made", again, func(r *outbox.Record) { r.PartitionKey = "another" })
	b.wait("one is in quarantine", func() bool { return b.deliveries("quarantined") == 1 })
	letters, err := store.DeadLetters(b.t.Context(), people.Filter{States: []string{people.Dead}, EventIDs: []string{"malformed"}, Since: time.Now().Add(-time.Hour)})
	if err != nil || len(letters) != 1 {
		b.t.Fatalf("dead letters are %+v, %v", letters, err)
	}
	if moved, err := store.RequestReplay(b.t.Context(), []int64{letters[0].ID}, "alice", "it's \\ mended"); err != nil || len(moved) != 1 {
		b.t.Fatalf("requested %v, %v", moved, err)
	}
	b.wait("it is replayed", func() bool { return slices.Equal(b.letterStates(), []string{"resolved 2"}) })
	quarantine, err := store.Quarantine(b.t.Context(), people.QuarantineFilter{Open: true})
	if err != nil || len(quarantine) != 1 || quarantine[0].EventID != "differs" || quarantine[0].Difference["amount"].Told == "" {
		b.t.Fatalf("quarantine is %+v, %v", quarantine, err)
	}
	if n, err := store.CountQuarantine(b.t.Context(), people.QuarantineFilter{IDs: []int64{quarantine[0].ID}}); err != nil || n != 1 {
		b.t.Errorf("%d in quarantine, %v", n, err)
	}
	if resolved, err := store.Resolve(b.t.Context(), []int64{quarantine[0].ID}, "alice", "the provider was wrong"); err != nil || len(resolved) != 1 {
		b.t.Errorf("resolved %v, %v", resolved, err)
	}
	if changed, err := control.Pause(b.t.Context(), "ledger", "alice", "it's a test"); err != nil || !changed {
		b.t.Errorf("pause: %v", err)
	}
	if groups, err := store.Groups(b.t.Context(), people.Filter{}); err != nil || len(groups) != 1 {
		b.t.Errorf("groups are %+v, %v", groups, err)
	}
	if all, err := store.Overviews(b.t.Context(), "ledger"); err != nil || len(all) != 1 {
		b.t.Errorf("consumers are %+v, %v", all, err)
	}
	if drained, err := store.Drain(b.t.Context(), "ledger", []string{"ledger"}, time.Time{}); err != nil || drained == nil {
		b.t.Errorf("drain is %+v, %v", drained, err)
	}
	if changed, err := control.Resume(b.t.Context(), "ledger", "alice", "it's over"); err != nil || !changed {
		b.t.Errorf("resume: %v", err)
	}
	if acts, err := store.History(b.t.Context(), letters[0].ID); err != nil || len(acts) < 4 {
		b.t.Errorf("history is %+v, %v", acts, err)
	}
	if err := alone.end(); err != nil {
		b.t.Errorf("run: %v", err)
	}
	if c, err := consumers.New(pool, b.connect(), apply, cfg); err != nil {
		b.t.Error(err)
	} else if pruned, err := c.Prune(b.t.Context()); err != nil || pruned != (consumers.Pruned{}) {
		b.t.Errorf("pruned %+v, %v", pruned, err)
	}
	cfg = b.batches()
	cfg.Concurrency, cfg.Together = 1, applyAll
	for range 10 {
		b.some(1)
		b.publish("again-of-"+fmt.Sprint(b.next), "refund.made", refund{ID: "re_" + fmt.Sprint(b.next), Account: "acct_1", Amount: 500})
	}
	b.runWith(pool, b.connect(), apply, cfg)
	b.settled()
	b.wantEffects(13)
	if got := query[string](b, "SELECT account FROM public.refund WHERE amount = 100"); !slices.Equal(got, []string{`the "träger"'s \ {account}, NULL`}) {
		b.t.Errorf("the account is %q", got)
	}
	if n := b.deliveries("failed") + b.deliveries("unproven") + b.deliveries("outage"); n != 0 {
		b.t.Errorf("%v deliveries failed, beside the one that was given up", n)
	}
}
