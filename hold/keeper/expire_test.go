package keeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/keeper"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestPolicyDecidesWithoutAResolver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alarm, cancel := b.overdue(hold.AlarmOnExpiry), b.overdue(hold.CancelOnExpiry)
	young := b.active(hold.ExpireAt(time.Now().Add(time.Hour), hold.CancelOnExpiry))
	never := b.active()
	k := b.keeper(keeper.Config{})
	if r := b.pass(k); r.Cancelled != 1 || r.Released != 0 || r.Undecided != 0 {
		t.Errorf("report is %+v, want one cancelled", r)
	}
	b.pass(k) // repeated, it changes nothing
	b.wantState(cancel, hold.Cancelled, "expire")
	for _, h := range []outbox.Hold{alarm, young, never} {
		b.wantState(h, hold.Active)
	}
	if n := query[int](b, `SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL`)[0]; n != 3 {
		t.Errorf("%d events wait, want the 3 of the others", n)
	}
}

func TestCoordinatorDecidesWithAResolver(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	committed, aborted := b.overdue(hold.AlarmOnExpiry), b.overdue(hold.AlarmOnExpiry)
	c.verdicts[committed.Operation], c.verdicts[aborted.Operation] = hold.Committed, hold.Aborted
	if r := b.pass(b.keeper(keeper.Config{Resolver: c})); r.Released != 1 || r.Cancelled != 1 {
		t.Errorf("report is %+v, want one released and one cancelled", r)
	}
	b.wantState(committed, hold.Released, "release")
	b.wantState(aborted, hold.Cancelled, "expire")
	sent := query[string](b, `SELECT hold_operation_id::text FROM outbox.event_outbox WHERE tx IS NOT NULL`)
	if len(sent) != 1 || sent[0] != committed.Operation.String() {
		t.Errorf("the log has events of %v, want one of the committed operation", sent)
	}
}

// Also when the policy is cancel: the coordinator may be about to commit.
func TestUnknownChangesNothingAndIsAskedAgainLater(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	unknown, away, odd := b.overdue(hold.CancelOnExpiry), b.overdue(hold.CancelOnExpiry), b.overdue(hold.AlarmOnExpiry)
	c.verdicts[unknown.Operation], c.verdicts[odd.Operation] = hold.Unknown, "perhaps"
	k := b.keeper(keeper.Config{Resolver: c})
	r, err := k.Pass(t.Context())
	if !errors.Is(err, errAway) || !strings.Contains(err.Error(), "perhaps") || r.Undecided != 3 {
		t.Errorf("report %+v, error %v; want 3 undecided, and both faults told", r, err)
	}
	b.pass(k) // not their turn yet: nobody is asked, nothing is counted
	for _, h := range []outbox.Hold{unknown, away, odd} {
		b.wantState(h, hold.Active)
		if n, asked := b.attempts(h), c.questions(h); n != 1 || asked != 1 {
			t.Errorf("%d attempts and %d questions, want 1 and 1", n, asked)
		}
	}
	b.exec(`UPDATE outbox.hold_inquiry SET next_at = clock_timestamp() WHERE operation_id = $1`, unknown.Operation)
	c.verdicts[unknown.Operation] = hold.Committed
	b.pass(k)
	b.wantState(unknown, hold.Released, "release")
}

func TestPauseGrowsUpToItsLimit(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	h := b.overdue(hold.AlarmOnExpiry)
	c.verdicts[h.Operation] = hold.Unknown
	k := b.keeper(keeper.Config{Resolver: c, Pause: time.Hour, MaxPause: 3 * time.Hour})
	for _, want := range []int{1, 2, 3, 3} {
		b.pass(k)
		got := query[int](b, `SELECT round(extract(epoch FROM next_at - asked_at) / 3600)::int FROM outbox.hold_inquiry`)[0]
		if got != want {
			t.Errorf("the next turn comes after %d hours, want %d", got, want)
		}
		b.exec(`UPDATE outbox.hold_inquiry SET next_at = clock_timestamp()`)
	}
}

func TestNotYetDueIsNeitherAskedNorCounted(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	young := b.active(hold.ExpireAt(time.Now().Add(time.Hour), hold.CancelOnExpiry))
	c.verdicts[young.Operation] = hold.Aborted
	k := b.keeper(keeper.Config{Resolver: c})
	for range 3 {
		b.pass(k)
	}
	b.wantState(young, hold.Active)
	if n := b.attempts(young); n != 0 || c.questions(young) != 0 {
		t.Errorf("%d attempts and %d questions before it is due", n, c.questions(young))
	}
}

func TestTwoKeepersAskAndDecideOnce(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	holds := make([]outbox.Hold, 30)
	for i := range holds {
		holds[i] = b.overdue(hold.AlarmOnExpiry)
		c.verdicts[holds[i].Operation] = []hold.Verdict{hold.Committed, hold.Aborted, hold.Unknown}[i%3]
	}
	var group errgroup.Group
	for range 2 {
		k := b.keeper(keeper.Config{Resolver: c})
		group.Go(func() error {
			_, err := k.Pass(t.Context())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, h := range holds {
		if n := c.questions(h); n != 1 {
			t.Errorf("the coordinator was asked %d times", n)
		}
		switch i % 3 {
		case 0:
			b.wantState(h, hold.Released, "release")
		case 1:
			b.wantState(h, hold.Cancelled, "expire")
		default:
			b.wantState(h, hold.Active)
		}
	}
}

// A coordinator that thinks for long keeps neither writers nor decisions from the generation.
func TestNothingIsLockedWhileTheCoordinatorIsAsked(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	h := b.overdue(hold.AlarmOnExpiry)
	c.verdicts[h.Operation] = hold.Unknown
	var inside error
	c.during = func(ctx context.Context, h outbox.Hold) {
		inside = pgx.BeginFunc(ctx, b.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM outbox.hold_operation JOIN outbox.hold_generation USING (operation_id)
				JOIN outbox.hold_inquiry USING (operation_id, generation) FOR UPDATE NOWAIT`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `SELECT outbox.publish_held($1, 1, '/test', 'thing.made')`, h.Operation.String())
			return err
		})
	}
	b.pass(b.keeper(keeper.Config{Resolver: c}))
	if inside != nil || c.questions(h) != 1 {
		t.Errorf("while the coordinator was asked (%d times): %v", c.questions(h), inside)
	}
}

// A keeper that was killed, or stalled, after it took its turn: another one takes it when the
// lease is over, and what the first one counts then is not counted.
func TestTurnOfADeadKeeperIsTaken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, err := hold.New(hold.Config{})
	if err != nil {
		t.Fatal(err)
	}
	take := func() []hold.Turn {
		turns, err := store.Overdue(t.Context(), b.Pool, time.Hour, false, 10)
		if err != nil {
			t.Fatal(err)
		}
		return turns
	}
	h := b.overdue(hold.AlarmOnExpiry)
	dead := take()
	if len(dead) != 1 || len(take()) != 0 {
		t.Fatalf("first turn is %v, and a second is to be had before its lease is over", dead)
	}
	b.exec(`UPDATE outbox.hold_inquiry SET next_at = clock_timestamp()`)
	next := take()
	if len(next) != 1 {
		t.Fatalf("the turn cannot be taken: %v", next)
	}
	for _, c := range []struct {
		turn hold.Turn
		want bool
		sum  int
	}{{dead[0], false, 0}, {next[0], true, 1}} {
		if ours, err := store.PutOff(t.Context(), b.Pool, c.turn, time.Hour); err != nil || ours != c.want || b.attempts(h) != c.sum {
			t.Errorf("put off: %t, %v, %d attempts; want %t and %d", ours, err, b.attempts(h), c.want, c.sum)
		}
	}
}

// Somebody cancelled what the coordinator has committed: nothing can mend that by itself, and
// it must not pass unnoticed.
func TestDecisionAgainstTheCoordinatorIsReported(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	h := b.overdue(hold.AlarmOnExpiry)
	c.verdicts[h.Operation] = hold.Committed
	c.during = func(ctx context.Context, h outbox.Hold) {
		if _, err := hold.Cancel(ctx, b.Pool, h, "operator"); err != nil {
			t.Error(err)
		}
	}
	_, err := b.keeper(keeper.Config{Resolver: c}).Pass(t.Context())
	if !errors.Is(err, outbox.ErrGenerationCancelled) || !strings.Contains(err.Error(), "committed") {
		t.Errorf("error is %v, want the contradiction", err)
	}
	b.wantState(h, hold.Cancelled, "cancel")
}

// One generation that nobody can decide, at the head of the line, keeps nobody else waiting.
func TestOneUndecidableGenerationDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	b, c := setup(t), newCoordinator()
	stuck := b.overdue(hold.AlarmOnExpiry)
	b.exec(`UPDATE outbox.hold_generation SET expires_at = expires_at - interval '1 hour'`)
	good := b.overdue(hold.AlarmOnExpiry)
	c.verdicts[good.Operation] = hold.Committed
	if _, err := b.keeper(keeper.Config{Resolver: c}).Pass(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("error is %v, want that the coordinator is away", err)
	}
	b.wantState(stuck, hold.Active)
	b.wantState(good, hold.Released, "release")
}

func TestRunDecidesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1) // receives once, when Run returns
	k := b.keeper(keeper.Config{Every: 100 * time.Millisecond})
	go func() { done <- k.Run(ctx) }()
	h := b.overdue(hold.CancelOnExpiry)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // between two looks
		if g, err := hold.State(t.Context(), b.Pool, h); err == nil && g.State == hold.Cancelled {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the overdue generation was never cancelled")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestConfigThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]keeper.Config{
		"schema":   {Schema: "No Schema"},
		"name":     {Name: strings.Repeat("x", 256)},
		"every":    {Every: time.Millisecond},
		"turn":     {Turn: time.Second},
		"pause":    {Pause: -1},
		"longest":  {Pause: 2 * time.Hour, MaxPause: time.Hour},
		"most":     {Most: -1},
		"question": {ResolveTimeout: -1},
	} {
		var refused *keeper.ConfigError
		if _, err := keeper.New(nil, cfg); !errors.As(err, &refused) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
