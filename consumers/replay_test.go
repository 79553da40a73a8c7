package consumers_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/consumers/people"
)

// decide is what people use.
func (b *bundle) decide() *people.Store {
	b.t.Helper()
	store, err := people.New(b.Pool, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return store
}

// request asks for the replay of every dead letter that is dead, and wants n of them.
func (b *bundle) request(n int) []int64 {
	b.t.Helper()
	ids := query[int64](b, "SELECT id FROM outbox.consumer_dead_letter ORDER BY id")
	moved, err := b.decide().RequestReplay(b.t.Context(), ids, "alice", "mended")
	if err != nil || len(moved) != n {
		b.t.Fatalf("requested %v, %v, want %d", moved, err, n)
	}
	return moved
}

func (b *bundle) letterStates() []string {
	b.t.Helper()
	return query[string](b, "SELECT state || ' ' || attempts FROM outbox.consumer_dead_letter ORDER BY stream_seq")
}

func (b *bundle) replaying() consumers.Config {
	cfg := b.config()
	cfg.Attempts, cfg.ReplayEvery = 1, 100*time.Millisecond
	return cfg
}

// broken fails until it is mended.
func broken(mended *atomic.Bool) consumers.Handler {
	return func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if !mended.Load() {
			return errBoom
		}
		return apply(ctx, tx, e)
	}
}

// TestDeadLettersAreReplayed: one request at a time, again when it failed again, and one effect.
func TestDeadLettersAreReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mended atomic.Bool
	b.run(broken(&mended), b.replaying())
	b.run(broken(&mended), b.replaying()) // a second instance: each replay is one's
	b.some(3)
	b.wait("all are dead", func() bool { return b.count("outbox.consumer_dead_letter") == 3 })
	b.request(3)
	b.wait("they fail again", func() bool { return slices.Equal(b.letterStates(), []string{"dead 2", "dead 2", "dead 2"}) })
	b.wantEffects(0)
	mended.Store(true)
	ids := b.request(3)
	if moved, err := b.decide().RequestReplay(t.Context(), ids, "bob", "me too"); err != nil || len(moved) != 0 && b.letterStates()[0] == "replay_requested 2" {
		t.Errorf("a second request moved %v, %v", moved, err)
	}
	b.wait("they are resolved", func() bool {
		return b.count("outbox.consumer_dead_letter WHERE state = 'resolved' AND claim_token IS NULL") == 3
	})
	b.wantEffects(3)
	got := query[string](b, "SELECT state || ' ' || actor || ' ' || reason FROM outbox.consumer_dead_letter_history WHERE dead_letter_id = $1 ORDER BY id", ids[0])
	want := []string{"dead ledger exhausted", "replay_requested alice mended", "dead ledger replay failed: exhausted",
		"replay_requested alice mended", "resolved ledger replayed: applied"}
	if !slices.Equal(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
	if n := b.metric("holdfast.consumer.replays", "resolved"); n != 3 {
		t.Errorf("%v replays are counted as resolved, want 3", n)
	}
}

// TestReplayThatDied: a claim that ran out is taken by another instance, which proves what was committed,
// and the holder that comes too late ends nothing.
func TestReplayThatDied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mended atomic.Bool
	r := b.run(broken(&mended), b.replaying())
	b.some(1)
	b.wait("it is dead", func() bool { return b.count("outbox.consumer_dead_letter") == 1 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	// Somebody claimed it, committed the effect, and died before the end was written.
	applier, err := consumers.NewApplier(b.Pool, apply, b.config())
	if err != nil {
		t.Fatal(err)
	}
	e := event.New()
	e.SetID("event-1")
	e.SetSource("/shop")
	e.SetType("refund.made")
	if err := e.SetData("application/json", refund{ID: "re_1", Account: "acct_1", Amount: 500}); err != nil {
		t.Fatal(err)
	}
	if _, err := applier.Apply(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE outbox.consumer_dead_letter SET state = 'replaying', claim_token = gen_random_uuid(), claim_until = clock_timestamp() - interval '1 s'")
	mended.Store(true)
	b.run(broken(&mended), b.replaying())
	b.wait("it is resolved", func() bool { return b.letterStates()[0] == "resolved 1" })
	b.wantEffects(1)
	if got := query[string](b, "SELECT reason FROM outbox.consumer_dead_letter_history ORDER BY id DESC LIMIT 1"); got[0] != "replayed: replayed" {
		t.Errorf("the history says %q, want that it was known", got)
	}
}

// TestReplayNotNow: while the group is paused nothing is claimed, an outage counts nothing, and a message
// that is gone is dead with a reason that says so.
func TestReplayNotNow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var fault atomic.Pointer[error]
	fail := func(err error) { fault.Store(&err) }
	fail(errBoom)
	handle := func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		if err := *fault.Load(); err != nil {
			return err
		}
		return apply(ctx, tx, e)
	}
	b.run(handle, b.replaying())
	b.some(2)
	b.wait("both are dead", func() bool { return b.count("outbox.consumer_dead_letter") == 2 })
	control, err := consumers.NewControl(b.Pool, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Pause(t.Context(), "ledger", "me", "test"); err != nil {
		t.Fatal(err)
	}
	b.wait("the switch is seen", func() bool { return b.metric("holdfast.consumer.paused", "") == 1 })
	fail(consumers.Unavailable(errBoom))
	stream, err := b.js.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	b.request(2)
	if got := b.letterStates(); !slices.Equal(got, []string{"replay_requested 1", "replay_requested 1"}) {
		t.Errorf("states are %q while the group is paused", got)
	}
	if _, err := control.Resume(t.Context(), "ledger", "me", "test"); err != nil {
		t.Fatal(err)
	}
	b.wait("it is put off again and again", func() bool { return b.metric("holdfast.consumer.replays", "later") > 2 })
	b.wait("the other one is gone", func() bool { return b.letterStates()[1] == "dead 2" })
	if got := query[string](b, "SELECT reason FROM outbox.consumer_dead_letter_history ORDER BY id DESC LIMIT 1"); got[0] != "replay failed: the stream does not have the message any more" {
		t.Errorf("the history says %q", got)
	}
	fail(nil)
	b.wait("it is resolved", func() bool { return b.letterStates()[0] == "resolved 1" })
	b.wantEffects(1)
}

// TestReplayOfAStreamThatWasMadeAnew: another event lies where the dead letter was.
func TestReplayOfAStreamThatWasMadeAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.some(1)
	b.exec(`INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, event_source, event_id, event_type, reason_code, reason_detail_sha256)
		VALUES ('ledger', 'EVENTS', 1, 1, '/shop', 'another', 'refund.made', 'permanent', sha256('x'))`)
	b.run(apply, b.replaying())
	b.wait("the event is applied", func() bool { return b.deliveries("applied") == 1 })
	b.request(1)
	b.wait("the replay fails", func() bool { return b.letterStates()[0] == "dead 2" })
	b.wantEffects(1)
}

// TestRangeIsReplayed: everything between two moments once more, through the same facts; what was lost is
// applied, what is dead stays for its own replay, and the request ends.
func TestRangeIsReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mended atomic.Bool
	mended.Store(true)
	b.run(broken(&mended), b.replaying())
	b.some(2)
	b.wait("two are applied", func() bool { return b.deliveries("applied") == 2 })
	since := b.stored(2).Add(time.Nanosecond)
	b.some(3)
	b.wait("five are applied", func() bool { return b.deliveries("applied") == 5 })
	mended.Store(false)
	b.some(1)
	b.wait("one is dead", func() bool { return b.count("outbox.consumer_dead_letter") == 1 })
	mended.Store(true)
	until := b.stored(6).Add(time.Nanosecond)
	b.some(2)
	b.wait("seven are applied", func() bool { return b.deliveries("applied") == 7 })
	b.settled()
	// The effects of the third and the fourth are lost, with their facts.
	b.exec("WITH gone AS (DELETE FROM public.refund WHERE id IN (3, 4) RETURNING fact_id) SELECT count(*) FROM gone")
	b.exec("DELETE FROM outbox.consumer_fact WHERE id NOT IN (SELECT fact_id FROM public.refund)")

	plan, err := consumers.PlanReplay(t.Context(), b.js, streamName, "ledger", consumers.Range{Since: since, Until: until})
	if err != nil || plan.First != 3 || plan.Last != 6 || plan.Messages != 4 || plan.Outstanding != nil {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	if err := plan.Request(t.Context(), b.js, "alice", "effects lost"); err != nil {
		t.Fatal(err)
	}
	b.wait("the replay ends", func() bool {
		p, err := consumers.PlanReplay(t.Context(), b.js, streamName, "ledger", consumers.Range{Since: since})
		return err == nil && p.Outstanding == nil
	})
	if applied, replayed, dead := b.deliveries("applied"), b.deliveries("replayed"), b.deliveries("dead"); applied != 9 || replayed != 1 || dead != 2 {
		t.Errorf("%v were applied, %v known, %v dead, want 9, 1 and 2", applied, replayed, dead)
	}
	b.wantEffects(7)
	if got := b.letterStates(); !slices.Equal(got, []string{"dead 1"}) {
		t.Errorf("the dead letter is %q", got)
	}
}

// stored is when a message was stored, by the clock of the broker.
func (b *bundle) stored(seq uint64) time.Time {
	b.t.Helper()
	stream, err := b.js.Stream(b.t.Context(), streamName)
	if err != nil {
		b.t.Fatal(err)
	}
	msg, err := stream.GetMsg(b.t.Context(), seq)
	if err != nil {
		b.t.Fatal(err)
	}
	return msg.Time
}

// TestOneRangeAtATime: it is counted first, and a second request is refused.
func TestOneRangeAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began := time.Now().Add(-time.Hour)
	r := b.run(apply, b.replaying())
	b.some(2)
	b.wait("both are applied", func() bool { return b.deliveries("applied") == 2 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    consumers.Range
		want uint64
	}{
		{consumers.Range{Since: began}, 2},
		{consumers.Range{Since: began, Until: began.Add(time.Minute)}, 0},
		{consumers.Range{Since: time.Now().Add(time.Hour)}, 0},
		{consumers.Range{Since: began, Subjects: []string{"events.other"}}, 0},
		{consumers.Range{Since: began, Subjects: []string{"events.refund.made"}}, 2},
	} {
		plan, err := consumers.PlanReplay(t.Context(), b.js, streamName, "ledger", c.r)
		if err != nil || plan.Messages != c.want {
			t.Errorf("%+v: the plan is %+v, %v, want %d messages", c.r, plan, err, c.want)
		}
		if err == nil && c.want == 0 && plan.Request(t.Context(), b.js, "a", "b") == nil {
			t.Errorf("%+v: nothing was requested without an error", c.r)
		}
	}
	plan, err := consumers.PlanReplay(t.Context(), b.js, streamName, "ledger", consumers.Range{Since: began})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Request(t.Context(), b.js, "alice", "why"); err != nil {
		t.Fatal(err)
	}
	if err := plan.Request(t.Context(), b.js, "bob", "me too"); !errors.Is(err, consumers.ErrReplayOutstanding) {
		t.Errorf("a second request: %v", err)
	}
	again, err := consumers.PlanReplay(t.Context(), b.js, streamName, "ledger", consumers.Range{Since: began})
	if err != nil || again.Outstanding == nil || again.Outstanding.Actor != "alice" || again.Outstanding.Pending != 2 {
		t.Errorf("outstanding is %+v, %v", again.Outstanding, err)
	}
	var wrong *consumers.ConfigError
	if _, err := consumers.PlanReplay(t.Context(), b.js, streamName, "led.ger", consumers.Range{}); !errors.As(err, &wrong) || len(wrong.Problems) != 2 {
		t.Errorf("error is %v", err)
	}
}
