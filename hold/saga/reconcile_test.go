package saga_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestReconcilerUndoesWhatNobodyEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	id := b.abandon(c, "61 min")
	if r := b.tick(c); r.Aborted != 1 || !r.Led {
		t.Errorf("report is %+v", r)
	}
	b.wantState(id, saga.StateAborted)
	b.wantPeople(id, 0, 0, 0)
	_, steps, acts, err := b.store.Show(t.Context(), b.Pool, id)
	if err != nil || len(acts) != 2 || acts[0].Action != "compensate" || acts[1].Action != "abort" || acts[1].Actor != "reconciler" || len(steps) != 2 {
		t.Errorf("audit is %v, steps %v, error %v", acts, steps, err)
	}
	// The client comes back, with a new day: the next generation, which completes.
	won := b.win(b.requestOf(id, order{"Ada", "2.00"}, `{"today":"2026-11-30"}`))
	if won.Generation != 2 {
		t.Errorf("generation is %d", won.Generation)
	}
	b.run(c, won)
	b.wantPeople(id, 2, 0, 2)
}

// TestGraceIsWaitedFor: neither a live lease, also of this very process, nor one that is over for less
// than the grace is touched.
func TestGraceIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	live, late := b.draft(), b.abandon(c, "59 min")
	b.win(b.request(live))
	if r := b.tick(c); r.Aborted+r.PutOff != 0 || b.desk.count("cancel") != 0 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(live, saga.StateInProgress)
	b.wantState(late, saga.StateInProgress)
}

// TestWhatChangedSinceItWasListedIsLeft: each claim for compensation judges the row again.
func TestWhatChangedSinceItWasListedIsLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	for name, set := range map[string]string{
		"completed":       `state = 'completed', result = '{}', lease_holder = NULL, lease_expires_at = NULL`,
		"stolen":          `lease_holder = gen_random_uuid(), lease_expires_at = clock_timestamp() + interval '1 min'`,
		"next generation": `generation = 2`,
		"aborted":         `state = 'aborted', lease_holder = NULL, lease_expires_at = NULL`,
		"taken":           `state = 'compensating', lease_expires_at = clock_timestamp() + interval '1 min'`,
	} {
		id := b.abandon(c, "2 h")
		due, err := b.store.ListStuck(t.Context(), b.Pool, []string{kind}, 10)
		if err != nil || len(due) != 1 || due[0].Operation != id {
			t.Fatalf("%s: %v, %v", name, due, err)
		}
		b.exec(`UPDATE outbox.saga_operation SET `+set+` WHERE operation_id = $1`, id)
		before := read[string](t, b.Pool, `SELECT o::text FROM outbox.saga_operation o WHERE operation_id = $1`, id)
		if _, claimed, err := b.store.ClaimForCompensation(t.Context(), b.Pool, due[0], "test"); err != nil || claimed {
			t.Errorf("%s: claimed, %v", name, err)
		}
		if after := read[string](t, b.Pool, `SELECT o::text FROM outbox.saga_operation o WHERE operation_id = $1`, id); after != before {
			t.Errorf("%s: %s became %s", name, before, after)
		}
		b.exec(`DELETE FROM outbox.saga_operation`)
	}
}

// TestEveryTransitionNamesItsSource: each change of state is tried on each state, with the right token
// and generation, and works from its source alone.
func TestEveryTransitionNamesItsSource(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	ctx := t.Context()
	claim := saga.Claim{Operation: b.draft(), Generation: 1, Holder: uuid.New()}
	due := saga.Due{Operation: claim.Operation, Generation: 1}
	sources := map[string][]saga.State{
		"complete": {saga.StateInProgress}, "renew": {saga.StateInProgress}, "let go": {saga.StateInProgress},
		"abort": {saga.StateCompensating}, "claim for compensation": {saga.StateInProgress, saga.StateCompensating},
		"released": {saga.StateCompleted}, "retry": {saga.StateStuck, saga.StateCompensating, saga.StateCompleted},
		"order abort": {saga.StateInProgress},
	}
	transitions := map[string]func() (bool, error){
		"complete": func() (bool, error) {
			err := pgx.BeginFunc(ctx, b.Pool, func(tx pgx.Tx) error {
				_, err := b.store.MarkCompleted(ctx, tx, claim, json.RawMessage(`{}`))
				return err
			})
			return err == nil, err
		},
		"renew":  func() (bool, error) { err := b.store.Renew(ctx, b.Pool, claim); return err == nil, err },
		"let go": func() (bool, error) { return b.store.LetGo(ctx, b.Pool, claim) },
		"abort":  func() (bool, error) { err := b.store.MarkAborted(ctx, b.Pool, claim, "t"); return err == nil, err },
		"claim for compensation": func() (bool, error) {
			_, ok, err := b.store.ClaimForCompensation(ctx, b.Pool, due, "t")
			return ok, err
		},
		"released": func() (bool, error) { return b.store.MarkReleased(ctx, b.Pool, claim) },
		"retry": func() (bool, error) {
			_, ok, err := b.store.Retry(ctx, b.Pool, claim.Operation, "t", "why")
			return ok, err
		},
		"order abort": func() (bool, error) {
			_, ok, err := b.store.Abort(ctx, b.Pool, claim.Operation, "t", "why")
			return ok, err
		},
	}
	b.win(b.request(claim.Operation))
	for name, transition := range transitions {
		for _, state := range saga.States() {
			held := state == saga.StateInProgress || state == saga.StateCompensating
			// Only a live lease is renewed or let go; only one that is over is taken away.
			ago := "1 day"
			if name == "renew" || name == "let go" {
				ago = "-1 day"
			}
			b.exec(`UPDATE outbox.saga_operation SET state = $1, generation = 1, events_released = false, next_attempt_at = clock_timestamp(),
				lease_holder = CASE WHEN $2 THEN $3::uuid END, lease_expires_at = CASE WHEN $2 THEN clock_timestamp() - $4::interval END,
				result = CASE WHEN $1 = 'completed' THEN '{}'::jsonb END`, string(state), held, claim.Holder, ago)
			want := false
			for _, source := range sources[name] {
				want = want || source == state
			}
			did, err := transition()
			if err != nil && !errors.Is(err, saga.ErrLeaseLost) {
				t.Errorf("%s from %s: %v", name, state, err)
			}
			if did != want {
				t.Errorf("%s from %s: %v, want %v", name, state, did, want)
			}
			if !did && b.state(claim.Operation) != state {
				t.Errorf("%s from %s made it %s", name, state, b.state(claim.Operation))
			}
		}
	}
}

// TestUnknownKindIsSkipped: not aborted, not counted, and seen.
func TestUnknownKindIsSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.abandon(b.coordinator(), "2 h")
	stranger := b.coordinator(func(kinds map[string]saga.Participants) { kinds["other"] = kinds[kind]; delete(kinds, kind) })
	if r := b.tick(stranger); r.Aborted+r.PutOff != 0 || r.Waiting.Unhandled != 1 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(id, saga.StateInProgress)
	// Nor is the release of one that is completed tried, and counted as failed.
	b.exec(`UPDATE outbox.saga_operation SET state = 'completed', result = '{}', lease_holder = NULL, lease_expires_at = NULL, next_attempt_at = clock_timestamp()`)
	if r := b.tick(stranger); r.PutOff != 0 || r.Released != 0 || r.Waiting.Unhandled != 1 {
		t.Errorf("completed: report is %+v", r)
	}
	if n := read[int](t, b.Pool, `SELECT attempts FROM outbox.saga_operation`); n != 0 || b.released(id) {
		t.Errorf("%d attempts, released: %v", n, b.released(id))
	}
}

// TestLiveOperationsDoNotHideOne: ten thousand of them, all older.
func TestLiveOperationsDoNotHideOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	b.exec(`INSERT INTO outbox.saga_operation (operation_id, kind, lease_holder, lease_expires_at, next_attempt_at, digest_key_id, request_digest, participants, basis)
		SELECT gen_random_uuid(), $1, gen_random_uuid(), clock_timestamp() + interval '1 h', 'epoch', 'k1', sha256('x'), '{people}', '{}' FROM generate_series(1, 10000)`, kind)
	id := b.abandon(c, "2 h")
	if r := b.tick(c); r.Aborted != 1 || r.Waiting.InProgress != 10000 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(id, saga.StateAborted)
}

// TestBadOperationWaitsLongerAndIsStuckAtLast: and does not stop the others meanwhile.
func TestBadOperationWaitsLongerAndIsStuckAtLast(t *testing.T) {
	t.Parallel()
	b := setupWith(t, saga.Settings{Attempts: 5, Pause: time.Minute, MaxPause: 3 * time.Minute})
	c := b.coordinator()
	bad, good := b.abandon(c, "3 h"), b.abandon(c, "2 h")
	b.desk.Participant = badFor{b.desk.Participant, bad, errDied}
	for attempt, pause := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
		r, err := c.Tick(t.Context())
		if !errors.Is(err, errDied) || r.PutOff != 1 {
			t.Fatalf("attempt %d: %+v, %v", attempt, r, err)
		}
		if attempt == 0 && r.Aborted != 1 {
			t.Error("the other one was not undone")
		}
		wait := read[time.Duration](t, b.Pool, `SELECT next_attempt_at - clock_timestamp() FROM outbox.saga_operation WHERE operation_id = $1`, bad)
		if wait > pause || wait < pause-30*time.Second {
			t.Errorf("attempt %d: the next one is in %s, want %s", attempt, wait, pause)
		}
		if r := b.tick(c); r.PutOff != 0 {
			t.Error("repeated at once")
		}
		b.due(bad)
	}
	if r, _ := c.Tick(t.Context()); r.Stuck != 1 || r.Waiting.Stuck != 1 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(bad, saga.StateStuck)
	b.wantState(good, saga.StateAborted)
	b.due(bad)
	if r := b.tick(c); r.PutOff+r.Stuck != 0 {
		t.Error("what is stuck is tried")
	}
	// A person mends the participant.
	b.desk.Participant = b.desk.Participant.(badFor).Participant
	if state, changed, err := b.store.Retry(t.Context(), b.Pool, bad, "me", "mended"); state != saga.StateCompensating || !changed || err != nil {
		t.Errorf("retry: %s, %v, %v", state, changed, err)
	}
	if r := b.tick(c); r.Aborted != 1 {
		t.Errorf("report is %+v", r)
	}
	b.wantState(bad, saga.StateAborted)
	b.wantActs(bad, "compensate in_progress compensating", "give_up compensating stuck", "retry stuck compensating", "abort compensating aborted")
}

// badFor is a participant that cannot cancel one operation.
type badFor struct {
	saga.Participant
	id  uuid.UUID
	err error
}

func (p badFor) Cancel(ctx context.Context, h outbox.Hold) (a hold.Answer, err error) {
	if h.Operation == p.id {
		return a, p.err
	}
	return p.Participant.Cancel(ctx, h)
}

// TestRefusedCancelIsStuckAtOnce: repeating it cannot help.
func TestRefusedCancelIsStuckAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	id := b.abandon(c, "2 h")
	b.desk.Participant = badFor{b.desk.Participant, id, fmt.Errorf("cancel: %w", outbox.ErrGenerationReleased)}
	if r, err := c.Tick(t.Context()); r.Stuck != 1 || !errors.Is(err, outbox.ErrGenerationReleased) {
		t.Errorf("report is %+v, error %v", r, err)
	}
	b.wantState(id, saga.StateStuck)
	b.wantActs(id, "compensate in_progress compensating", "give_up compensating stuck")
}

// wantActs checks what the reconciler's audit says of an operation.
func (b *bundle) wantActs(id uuid.UUID, want ...string) {
	b.t.Helper()
	_, _, acts, err := b.store.Show(b.t.Context(), b.Pool, id)
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, act := range acts {
		got = append(got, act.Action+" "+string(act.Before)+" "+string(act.After))
		if act.Actor == "" || act.Generation != 1 {
			b.t.Errorf("act is %+v", act)
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("audit is %q, want %q", got, want)
	}
}

// TestAbortNeedsEverySuccess: also of a participant that is not known here, and of those that were
// never reached.
func TestAbortNeedsEverySuccess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := &desk{Participant: b.desk.Participant}
	two := func(kinds map[string]saga.Participants) {
		kinds[kind] = saga.Participants{"people": b.desk, "billing": other}
	}
	c := b.coordinator(two)
	id := b.draft()
	r := b.request(id)
	r.Participants = []string{"people", "billing"}
	b.win(r) // and then dies, before it registered anywhere
	b.age(id, "2 h")
	other.first(func(context.Context, string) error { return errDied })
	if r, err := c.Tick(t.Context()); !errors.Is(err, errDied) || r.Aborted != 0 {
		t.Errorf("report is %+v, error %v", r, err)
	}
	if b.desk.count("cancel") != 1 {
		t.Error("the other participant was left out")
	}
	b.wantState(id, saga.StateCompensating)
	b.due(id)
	b.exec(`UPDATE outbox.saga_reconciler SET lease_until = clock_timestamp()`)
	if r, err := b.coordinator().Tick(t.Context()); err == nil || r.Aborted != 0 {
		t.Errorf("report is %+v, error %v", r, err)
	}
	b.wantState(id, saga.StateCompensating)
	other.first(nil)
	b.due(id)
	b.exec(`UPDATE outbox.saga_reconciler SET lease_until = clock_timestamp()`)
	if r := b.tick(c); r.Aborted != 1 {
		t.Errorf("report is %+v", r)
	}
}

// TestCancelHasATimeLimit: an answer that never comes is a failed attempt.
func TestCancelHasATimeLimit(t *testing.T) {
	t.Parallel()
	b := setupWith(t, saga.Settings{ParticipantTimeout: 50 * time.Millisecond})
	c := b.coordinator()
	id := b.draft()
	b.win(b.request(id))
	b.age(id, "2 h")
	b.desk.first(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
	if r, err := c.Tick(t.Context()); !errors.Is(err, context.DeadlineExceeded) || r.PutOff != 1 {
		t.Errorf("report is %+v, error %v", r, err)
	}
	b.wantState(id, saga.StateCompensating)
	b.desk.first(nil)
	b.due(id)
	var err error
	if b.store, err = saga.New(saga.Config{}); err != nil { // with time for a real answer
		t.Fatal(err)
	}
	if r := b.tick(b.survivor()); r.Aborted != 1 || b.desk.count("cancel") != 2 {
		t.Errorf("the next report is %+v, after %d cancels", r, b.desk.count("cancel"))
	}
}

// TestKilledReconcilerLeavesNothingBehind: between its claim and the cancel, and between the cancel and
// the mark. Another one goes on, and what the dead one still does is fenced.
func TestKilledReconcilerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	for name, cancels := range map[string]bool{"before the cancel": false, "before the mark": true} {
		id := b.abandon(c, "2 h")
		dead, claimed, err := b.store.ClaimForCompensation(t.Context(), b.Pool, saga.Due{Operation: id, Generation: 1}, "dead")
		if err != nil || !claimed {
			t.Fatal(err)
		}
		if cancels {
			if _, err := b.desk.Cancel(t.Context(), dead.Hold()); err != nil {
				t.Fatal(err)
			}
		}
		if r := b.tick(c); r.Aborted != 0 {
			t.Errorf("%s: its turn is not waited for", name)
		}
		b.age(id, "1 s")
		if r := b.tick(c); r.Aborted != 1 {
			t.Errorf("%s: report is %+v", name, r)
		}
		if err := b.store.MarkAborted(t.Context(), b.Pool, dead.Claim, "dead"); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("%s: the dead one: %v", name, err)
		}
		b.wantPeople(id, 0, 0, 0)
	}
}

// TestTwoLeadersAreHarmless: both find everything due, at once.
func TestTwoLeadersAreHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, d := b.coordinator(), b.coordinator()
	var ids []uuid.UUID
	for range 5 {
		ids = append(ids, b.abandon(c, "2 h"))
	}
	done := b.draft()
	b.desk.first(func(_ context.Context, what string) error {
		if what == "release" {
			return errDied
		}
		return nil
	})
	b.run(c, b.win(b.request(done)))
	b.desk.first(nil)
	b.due(done)
	var both errgroup.Group
	var reports [2]*saga.Report
	for i, leader := range []*saga.Coordinator{c, d} {
		b.exec(`UPDATE outbox.saga_reconciler SET lease_until = NULL, lease_token = NULL`)
		both.Go(func() (err error) { reports[i], err = leader.Tick(t.Context()); return err })
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := reports[0].Aborted + reports[1].Aborted; n != 5 {
		t.Errorf("%d were aborted", n)
	}
	for _, id := range ids {
		b.wantState(id, saga.StateAborted)
		b.wantPeople(id, 0, 0, 0)
	}
	b.wantPeople(done, 2, 0, 2)
}

// TestOneReplicaLeads: and another one when that is gone, after its lease. No session holds it.
func TestOneReplicaLeads(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	first, second := b.coordinator(), b.coordinator()
	if r := b.tick(first); !r.Led {
		t.Error("nobody leads")
	}
	b.Pool.Reset() // every connection is another one
	if !b.tick(first).Led || b.tick(second).Led {
		t.Error("the lead changed with the connections")
	}
	// The first one is killed.
	if left := read[time.Duration](t, b.Pool, `SELECT lease_until - clock_timestamp() FROM outbox.saga_reconciler`); left > 45*time.Second {
		t.Errorf("the lease lasts %s", left)
	}
	b.exec(`UPDATE outbox.saga_reconciler SET lease_until = clock_timestamp()`)
	if !b.tick(second).Led || b.tick(first).Led {
		t.Error("the second one does not lead")
	}
}

// TestPruneNeverTakesWhatIsUnreleased: nor what has not ended, nor what is young.
func TestPruneNeverTakesWhatIsUnreleased(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	const (
		old, young = `clock_timestamp() - interval '31 days'`, `clock_timestamp() - interval '29 days'`
		none       = `lease_holder = NULL, lease_expires_at = NULL`
	)
	for set, goes := range map[string]bool{
		`state = 'completed', result = '{}', events_released = true, updated_at = ` + old + `, ` + none:   true,
		`state = 'completed', result = '{}', events_released = true, updated_at = ` + young + `, ` + none: false,
		`state = 'completed', result = '{}', updated_at = ` + old + `, ` + none:                           false,
		`state = 'aborted', updated_at = ` + old + `, ` + none:                                            true,
		`state = 'aborted', updated_at = ` + young + `, ` + none:                                          false,
		`state = 'stuck', updated_at = ` + old + `, ` + none:                                              false,
		`state = 'compensating', updated_at = ` + old:                                                     false,
		`updated_at = ` + old: false,
	} {
		id := b.draft()
		b.win(b.request(id))
		b.exec(`INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, 1, 'person:0', 'person', 'p')`, id)
		b.exec(`UPDATE outbox.saga_operation SET `+set+` WHERE operation_id = $1`, id)
		if _, err := b.store.Prune(t.Context(), b.Pool); err != nil {
			t.Fatal(err)
		}
		if left := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_operation WHERE operation_id = $1`, id); (left == 0) != goes {
			t.Errorf("%s: %d left", set, left)
		}
	}
}
