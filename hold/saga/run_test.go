package saga_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestRunCompletesAndReleases(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	o, err := c.ClaimOrResume(t.Context(), b.request(id))
	if err != nil {
		t.Fatal(err)
	}
	answer := b.run(c, o.(saga.Won))
	if !answer.Released || !b.released(id) {
		t.Error("not released")
	}
	b.wantState(id, saga.StateCompleted)
	b.wantPeople(id, 2, 0, 2)
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.event_outbox`); n != 1 {
		t.Errorf("%d events of the coordinator", n)
	}
	if got := b.claim(b.request(id)).(saga.Completed); string(got.Result) != string(answer.Result) {
		t.Errorf("answered %s, and %s to a retry", answer.Result, got.Result)
	}
	if b.desk.count("register") != 1 || b.desk.count("release") != 1 {
		t.Errorf("participant was asked %v", b.desk.calls)
	}
	b.wantSubjects(0)
	// Of the request there is the digest, and nothing else.
	if n := read[int](t, b.Pool, `SELECT (SELECT count(*) FROM outbox.saga_operation o WHERE o::text LIKE '%Ada%') + (SELECT count(*) FROM outbox.saga_step s WHERE s::text LIKE '%Ada%')`); n != 0 {
		t.Errorf("%d rows have the request", n)
	}
}

// TestStepsAreACacheOnly: a successor that finds none of them makes each call again, with the same bytes, and has the
// same answers.
func TestStepsAreACacheOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	id := b.abandon(c, "1 s")
	const steps = `SELECT string_agg(step_key || ' ' || remote_id, ', ' ORDER BY step_key) FROM outbox.saga_step`
	before := read[string](t, b.Pool, steps)
	b.exec(`DELETE FROM outbox.saga_step`)
	b.run(c, b.win(b.request(id)))
	if after := read[string](t, b.Pool, steps); after != before {
		t.Errorf("steps were %s and are %s", before, after)
	}
	for _, key := range []string{"person:0", "person:1"} {
		if sent := b.desk.sent(key); len(sent) != 2 || sent[0] != sent[1] {
			t.Errorf("%s was called with %q", key, sent)
		}
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestStepsSeeWhatEarlierOnesMade: also those of a run before.
func TestStepsSeeWhatEarlierOnesMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	var seen []string
	for _, fails := range []bool{true, false} {
		won := b.win(b.request(id))
		work := b.work(won)
		do := work.Steps[1].Do
		work.Steps[1].Do = func(ctx context.Context, call saga.Call) (string, error) {
			seen = append(seen, call.Remote["person:0"])
			if fails {
				return "", errDied
			}
			return do(ctx, call)
		}
		if _, err := c.Run(t.Context(), won, work); (err != nil) != fails {
			t.Errorf("run: %v", err)
		}
	}
	made := read[string](t, b.people.Pool, `SELECT stable_id FROM outbox.hold_receipt WHERE step_key = 'person:0'`)
	if want := []string{made, made}; !slices.Equal(seen, want) {
		t.Errorf("the second step saw %v, want %v", seen, want)
	}
}

// TestFinalTransactionLocksTheSubject: a reaper, or anybody, skips it meanwhile.
func TestFinalTransactionLocksTheSubject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	final := work.Final
	work.Final = func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
		free := read[int](t, b.Pool, `SELECT count(*) FROM (SELECT FROM draft FOR UPDATE SKIP LOCKED) d`)
		if free != 0 {
			t.Error("the subject is free")
		}
		return final(ctx, tx, remote)
	}
	if _, err := c.Run(t.Context(), won, work); err != nil {
		t.Fatal(err)
	}
	b.wantSubjects(0)
}

// wantSubjects checks how many drafts there are.
func (b *bundle) wantSubjects(want int) {
	b.t.Helper()
	if n := read[int](b.t, b.Pool, `SELECT count(*) FROM draft`); n != want {
		b.t.Errorf("%d subjects are there, want %d", n, want)
	}
}

// TestRunResumesBehindWhatIsRecorded: the lease of a run that failed is let go at once; the next run
// makes only what is missing, with the same bytes.
func TestRunResumesBehindWhatIsRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	work.Steps[1].Do = func(context.Context, saga.Call) (string, error) { return "", errDied }
	if _, err := c.Run(t.Context(), won, work); !errors.Is(err, errDied) {
		t.Fatalf("run: %v", err)
	}
	again := b.win(b.requestOf(id, order{"Ada", "1.50"}, `{"today":"another"}`)) // without ageing
	if !again.Stolen {
		t.Error("it is another generation")
	}
	b.run(c, again)
	if n := len(b.desk.sent("person:0")); n != 1 {
		t.Errorf("the recorded step was called %d times", n)
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestNothingIsLockedDuringACall: another connection takes the subject and the operation at once,
// and none of the pool is in use.
func TestNothingIsLockedDuringACall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	var seen []string
	free := func(what string) {
		seen = append(seen, what)
		b.exec(`SELECT FROM draft FOR UPDATE NOWAIT`)
		b.exec(`SELECT FROM outbox.saga_operation FOR UPDATE NOWAIT`)
		b.until("no connection is in use", func() bool { return b.Pool.Stat().AcquiredConns() == 0 })
	}
	b.desk.first(func(_ context.Context, what string) error { free(what); return nil })
	won := b.win(b.request(id))
	work := b.work(won)
	for i, do := range map[int]func(context.Context, saga.Call) (string, error){0: work.Steps[0].Do, 1: work.Steps[1].Do} {
		work.Steps[i].Do = func(ctx context.Context, c saga.Call) (string, error) { free("step"); return do(ctx, c) }
	}
	if _, err := c.Run(t.Context(), won, work); err != nil {
		t.Fatal(err)
	}
	if want := []string{"register", "step", "step", "release"}; !slices.Equal(seen, want) {
		t.Errorf("looked during %v, want %v", seen, want)
	}
	b.abandon(c, "2 h")
	b.tick(c)
	if seen[len(seen)-1] != "cancel" {
		t.Errorf("looked during %v", seen)
	}
}

// TestZombieInTheSameGenerationIsHarmless: a holder is stolen from while its call is on its way. Both
// send the same bytes; there is one entity and one event; the zombie makes no further call.
func TestZombieInTheSameGenerationIsHarmless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	zombie := b.win(b.request(id))
	work := b.work(zombie)
	reached, leave := make(chan struct{}), make(chan struct{})
	do := work.Steps[0].Do
	work.Steps[0].Do = func(ctx context.Context, call saga.Call) (string, error) {
		close(reached)
		<-leave
		return do(ctx, call)
	}
	work.Steps[1].Do = func(context.Context, saga.Call) (string, error) {
		t.Error("the zombie went on")
		return "", errDied
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(t.Context(), zombie, work)
		ended <- err
	}()
	wait(t, "the zombie calls", reached)
	successor := b.steal(id)
	successorWork := b.work(successor)
	final := successorWork.Final
	// The zombie's call arrives when the successor has made its own.
	successorWork.Final = func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
		close(leave)
		if err := wait(t, "the zombie parks", ended); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("the zombie ended with %v", err)
		}
		return final(ctx, tx, remote)
	}
	if _, err := c.Run(t.Context(), successor, successorWork); err != nil {
		t.Fatal(err)
	}
	sent := b.desk.sent("person:0")
	if len(sent) != 2 || sent[0] != sent[1] {
		t.Errorf("bodies are %q", sent)
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestRefusedBecauseItWasStolen: the participant refuses a call that comes after the successor's release,
// and the zombie learns why.
func TestRefusedBecauseItWasStolen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	zombie := b.win(b.request(id))
	work := b.work(zombie)
	do := work.Steps[1].Do
	work.Steps[1].Do = func(ctx context.Context, call saga.Call) (string, error) {
		b.run(c, b.steal(id))
		return do(ctx, call)
	}
	if _, err := c.Run(t.Context(), zombie, work); !errors.Is(err, saga.ErrLeaseLost) || !errors.Is(err, outbox.ErrGenerationReleased) {
		t.Errorf("the zombie ended with %v", err)
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestExpiredLeaseThatNobodyStoleCommits: the token proves it.
func TestExpiredLeaseThatNobodyStoleCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	final := work.Final
	work.Final = func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
		b.age(id, "10 min")
		return final(ctx, tx, remote)
	}
	if _, err := c.Run(t.Context(), won, work); err != nil {
		t.Fatal(err)
	}
	b.wantState(id, saga.StateCompleted)
}

// TestStolenLeaseDoesNotCommit: whether a client took it, or the reconciler.
func TestStolenLeaseDoesNotCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, sql := range []string{
		`UPDATE outbox.saga_operation SET lease_holder = gen_random_uuid() WHERE operation_id = $1`,
		`UPDATE outbox.saga_operation SET lease_holder = gen_random_uuid(), state = 'compensating' WHERE operation_id = $1`,
		`UPDATE outbox.saga_operation SET state = 'compensating' WHERE operation_id = $1`,
		`UPDATE outbox.saga_operation SET generation = 2 WHERE operation_id = $1`,
	} {
		c, id := b.coordinator(), b.draft()
		won := b.win(b.request(id))
		work := b.work(won)
		final := work.Final
		work.Final = func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error) {
			b.exec(sql, id)
			return final(ctx, tx, remote)
		}
		if _, err := c.Run(t.Context(), won, work); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("%s: %v", sql, err)
		}
		if n := read[int](t, b.Pool, `SELECT count(*) FROM orders WHERE id = $1`, id); n != 0 {
			t.Errorf("%s: the result was committed", sql)
		}
		if n := read[int](t, b.Pool, `SELECT count(*) FROM draft WHERE id = $1`, id); n != 1 {
			t.Errorf("%s: the subject is consumed", sql)
		}
		b.wantPeople(id, 2, 2, 0)
	}
}

// TestStealAgainstCompletion: the steal waits for the final transaction and finds the result; or the
// completion waits for the steal and finds a foreign token.
func TestStealAgainstCompletion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	complete := func(tx pgx.Tx, claim saga.Claim) error {
		_, err := b.store.MarkCompleted(t.Context(), tx, claim, json.RawMessage(`{}`))
		return err
	}
	t.Run("completion first", func(t *testing.T) {
		id := b.draft()
		r := b.request(id)
		r.Subject = anySubject
		won := b.win(r)
		b.age(id, "1 s")
		tx, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := complete(tx, won.Claim); err != nil {
			t.Fatal(err)
		}
		conn, pid := b.conn()
		stolen := b.claiming(conn, r)
		b.waitBlocked(pid)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o := wait(t, "the steal", stolen); o.Name() != "completed" {
			t.Errorf("the steal is %s", o.Name())
		}
	})
	t.Run("steal first", func(t *testing.T) {
		id := b.draft()
		r := b.request(id)
		r.Subject = anySubject
		won := b.win(r)
		b.age(id, "1 s")
		hold := newBarrier()
		stolen := make(chan error, 1)
		go func() {
			_, err := b.store.ClaimOrResume(t.Context(), barrierDB{b.Pool, hold, true}, r)
			stolen <- err
		}()
		wait(t, "it is stolen", hold.reached)
		conn, pid := b.conn()
		completed := make(chan error, 1)
		go func() {
			completed <- pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error { return complete(tx, won.Claim) })
		}()
		b.waitBlocked(pid)
		close(hold.leave)
		if err := wait(t, "the steal", stolen); err != nil {
			t.Error(err)
		}
		if err := wait(t, "the completion", completed); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("completion: %v", err)
		}
		b.wantState(id, saga.StateInProgress)
	})
	t.Run("completion against reconciler", func(t *testing.T) {
		id := b.abandon(c, "2 h")
		holder := read[uuid.UUID](t, b.Pool, `SELECT lease_holder FROM outbox.saga_operation WHERE operation_id = $1`, id)
		claim := saga.Claim{Operation: id, Generation: 1, Holder: holder}
		tx, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := complete(tx, claim); err != nil {
			t.Fatal(err)
		}
		if _, claimed, err := b.store.ClaimForCompensation(t.Context(), b.Pool, saga.Due{Operation: id, Generation: 1}, "r"); err != nil || claimed {
			t.Errorf("the reconciler took what is being completed: %v", err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, claimed, err := b.store.ClaimForCompensation(t.Context(), b.Pool, saga.Due{Operation: id, Generation: 1}, "r"); err != nil || !claimed {
			t.Errorf("the reconciler did not take it: %v", err)
		}
		if err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error { return complete(tx, claim) }); !errors.Is(err, saga.ErrLeaseLost) {
			t.Errorf("completion: %v", err)
		}
	})
}

// TestUniqueViolationReadsTheAuthoritativeResult: whoever wrote it.
func TestUniqueViolationReadsTheAuthoritativeResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	b.exec(`INSERT INTO orders VALUES ($1, '{"n": 7}')`, id)
	answer, err := c.Run(t.Context(), won, b.work(won))
	if err != nil || string(answer.Result) != `{"n": 7}` || answer.Released {
		t.Errorf("answer is %s %v, error %v", answer.Result, answer.Released, err)
	}
	// Nothing of this run is in effect; its events are not released, since it did not complete.
	b.wantState(id, saga.StateInProgress)
	b.wantPeople(id, 2, 2, 0)
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.event_outbox`); n != 0 {
		t.Errorf("%d events of a transaction that was rolled back", n)
	}

	// One that is somebody else's unique violation, and no result, is an error.
	id = b.draft()
	won = b.win(b.request(id))
	work := b.work(won)
	work.Final = func(ctx context.Context, tx pgx.Tx, _ map[string]string) (json.RawMessage, error) {
		_, err := tx.Exec(ctx, `INSERT INTO draft (id) VALUES ($1)`, id)
		return nil, err
	}
	if _, err := c.Run(t.Context(), won, work); err == nil {
		t.Error("no error")
	}
}

// TestSubjectGoneInTheFinalTransaction: the operation is asked, and its answer is the answer.
func TestSubjectGoneInTheFinalTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, completed := range map[string]bool{"completed elsewhere": true, "reaped": false} {
		c, id := b.coordinator(), b.draft()
		r := b.request(id)
		lock, looks := r.Subject, 0
		r.Subject = func(ctx context.Context, tx pgx.Tx) (bool, error) {
			if looks++; looks == 2 { // the final transaction
				b.exec(`DELETE FROM draft WHERE id = $1`, id)
				if completed {
					b.exec(`UPDATE outbox.saga_operation SET state = 'completed', lease_holder = NULL, lease_expires_at = NULL, result = '{"n": 1}'
						WHERE operation_id = $1`, id)
				}
			}
			return lock(ctx, tx)
		}
		won := b.win(r)
		work := b.work(won)
		work.Final = func(context.Context, pgx.Tx, map[string]string) (json.RawMessage, error) {
			t.Error("the final part ran")
			return nil, errDied
		}
		answer, err := c.Run(t.Context(), won, work)
		if completed && (err != nil || string(answer.Result) != `{"n": 1}`) {
			t.Errorf("%s: %s, %v", name, answer.Result, err)
		}
		if !completed && !errors.Is(err, saga.ErrSubjectGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDigestIsComparedBeforeAnybodyIsCalled, also by Run.
func TestDigestIsComparedBeforeAnybodyIsCalled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	b.exec(`UPDATE outbox.saga_operation SET request_digest = sha256('other')`)
	if _, err := c.Run(t.Context(), won, b.work(won)); !errors.Is(err, saga.ErrDigestMismatch) {
		t.Errorf("run: %v", err)
	}
	if len(b.desk.calls) != 0 {
		t.Errorf("participant was asked %v", b.desk.calls)
	}
}

// TestReleaseFailureIsNoFailure: the client has its answer, and the reconciler finishes.
func TestReleaseFailureIsNoFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	b.desk.first(func(_ context.Context, what string) error {
		if what == "release" {
			return errDied
		}
		return nil
	})
	won := b.win(b.request(id))
	answer := b.run(c, won)
	if answer.Released || b.released(id) || answer.Result == nil {
		t.Errorf("answer is %+v", answer)
	}
	b.wantState(id, saga.StateCompleted)
	b.wantPeople(id, 2, 2, 0)
	if r := b.tick(c); r.Released != 0 || b.desk.count("release") != 1 {
		t.Error("the reconciler does not leave the holder time")
	}
	b.due(id)
	if _, err := c.Tick(t.Context()); !errors.Is(err, errDied) {
		t.Errorf("tick: %v", err)
	}
	b.desk.first(nil)
	if r := b.tick(c); r.Released != 0 {
		t.Error("a failure is repeated at once")
	}
	b.due(id)
	if r := b.tick(c); r.Released != 1 || !b.released(id) {
		t.Errorf("report is %+v", r)
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestPanicInAStepEndsTheLease: nobody renews it, and the next claim goes on.
func TestPanicInAStepEndsTheLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	work := b.work(won)
	work.Steps[1].Do = func(context.Context, saga.Call) (string, error) { panic("in a step") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = c.Run(t.Context(), won, work)
	}()
	b.run(c, b.steal(id))
	b.wantPeople(id, 2, 0, 2)
}

// TestPrunedGenerationsAreSteppedOver: a participant remembers an aborted generation whose row is gone.
func TestPrunedGenerationsAreSteppedOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	if _, err := hold.Cancel(t.Context(), b.people.Pool, outbox.Hold{Operation: id, Generation: 3}, "test"); err != nil {
		t.Fatal(err)
	}
	won := b.win(b.request(id))
	b.run(c, won)
	if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 4 {
		t.Errorf("it ran as generation %d, want 4", n)
	}
	b.wantPeople(id, 2, 0, 2)
}

// TestReleasedGenerationTakesNoWrites: somebody has released what was never completed.
func TestReleasedGenerationTakesNoWrites(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, id := b.coordinator(), b.draft()
	won := b.win(b.request(id))
	if _, err := hold.Register(t.Context(), b.people.Pool, won.Hold(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Release(t.Context(), b.people.Pool, won.Hold(), "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), won, b.work(won)); !errors.Is(err, saga.ErrGenerationClosed) {
		t.Errorf("run: %v", err)
	}
}

// TestStepsNeedKeysOfTheirOwn, and a recorded step keeps its id.
func TestStepsNeedKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.coordinator()
	won := b.win(b.request(b.draft()))
	work := b.work(won)
	work.Steps = append(work.Steps, work.Steps[0])
	var invalid *outbox.InvalidArgumentError
	if _, err := c.Run(t.Context(), won, work); !errors.As(err, &invalid) || len(b.desk.calls) != 0 {
		t.Errorf("run: %v", err)
	}
	key := work.Steps[0].Key
	for _, c := range []struct {
		id   string
		want error
	}{{"p1", nil}, {"p1", nil}, {"p2", saga.ErrStepConflict}} {
		if err := b.store.RecordStep(t.Context(), b.Pool, won.Claim, key, "person", c.id); !errors.Is(err, c.want) {
			t.Errorf("record %s: %v", c.id, err)
		}
	}
}
