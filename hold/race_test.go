package hold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// decision is a way to end a generation, and what it makes of two held events.
type decision struct {
	decide  func(*testing.T, hold.DB, outbox.Hold) (hold.Answer, error)
	state   hold.GenerationState
	refusal error // what everybody is told who comes later and wants something else
	code    string
	answer  hold.Answer
	log     []string // empty, not nil
}

var decisions = map[string]decision{
	"release": {
		decide: func(t *testing.T, db hold.DB, h outbox.Hold) (hold.Answer, error) {
			return hold.Release(t.Context(), db, h, "test")
		},
		state: hold.Released, refusal: outbox.ErrGenerationReleased, code: "HF012",
		answer: hold.Answer{State: hold.Released, MaxGeneration: 1, Released: 2, Changed: true},
		log:    []string{"a", "b"},
	},
	"cancel": cancelled(undo["cancel"]),
	"drop":   cancelled(undo["drop"]),
}

func cancelled(decide func(*testing.T, hold.DB, outbox.Hold) (hold.Answer, error)) decision {
	return decision{
		decide: decide, state: hold.Cancelled, refusal: outbox.ErrGenerationCancelled, code: "HF011",
		answer: hold.Answer{State: hold.Cancelled, MaxGeneration: 1, Dropped: 2, Changed: true},
		log:    []string{},
	}
}

// Write first: the decision waits until it has committed, and covers its events.
func TestDecisionWaitsForAnOpenWriteAndCoversItsEvents(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			writer := b.begin(t, pgx.TxOptions{})
			b.stage(t, writer, b.hold, "a", "b")

			var got hold.Answer
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				got, err = d.decide(t, tx, b.hold)
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := writer.Commit(t.Context()); err != nil {
				t.Fatalf("commit the write: %v", err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(d.answer, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(d.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if n := b.held(t); n != 0 {
				t.Errorf("%d events are held under a generation that is %s", n, d.state)
			}
		})
	}
}

func TestDecisionIsNotHeldUpByAWriteThatRollsBack(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "a", "b")
			writer := b.begin(t, pgx.TxOptions{})
			b.stage(t, writer, b.hold, "c")
			var got hold.Answer
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				got, err = d.decide(t, tx, b.hold)
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := writer.Rollback(t.Context()); err != nil {
				t.Fatalf("roll back the write: %v", err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(d.answer, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(d.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// Decision first: the write waits, and is refused when the decision commits. Nothing
// of its transaction stays.
func TestWriteWaitsForAnOpenDecisionAndIsRefused(t *testing.T) {
	t.Parallel()
	db := setup(t)
	db.createThings(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "a", "b")
			first := b.begin(t, pgx.TxOptions{})
			if _, err := d.decide(t, first, b.hold); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			second := b.start(t, pgx.TxOptions{}, b.makeThing(t, "late"))
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatalf("commit the %s: %v", name, err)
			}
			wantSQLState(t, second.wait(t), d.code)
			if diff := cmp.Diff(d.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if n := b.held(t); n != 0 {
				t.Errorf("%d events are held under a generation that is %s", n, d.state)
			}
			if things := b.things(t); len(things) != 0 {
				t.Errorf("the refused write left %v", things)
			}
		})
	}
}

func TestWriteGoesOnWhenTheDecisionRollsBack(t *testing.T) {
	t.Parallel()
	db := setup(t)
	db.createThings(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			first := b.begin(t, pgx.TxOptions{})
			if _, err := d.decide(t, first, b.hold); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			second := b.start(t, pgx.TxOptions{}, b.makeThing(t, "late"))
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Rollback(t.Context()); err != nil {
				t.Fatalf("roll back the %s: %v", name, err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("stage: %v", err)
			}
			if things, held := b.things(t), b.held(t); len(things) != 1 || held != 1 {
				t.Errorf("things %v and %d held events, want one of each", things, held)
			}
		})
	}
}

// A transaction that began, and wrote, before the decision, but comes to its events
// only afterwards.
func TestWriteBegunBeforeTheDecisionIsRefusedAfterIt(t *testing.T) {
	t.Parallel()
	db := setup(t)
	db.createThings(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			writer := b.begin(t, pgx.TxOptions{})
			if _, err := writer.Exec(t.Context(), `INSERT INTO thing VALUES ($1, 'early')`, b.hold.Operation); err != nil {
				t.Fatalf("write: %v", err)
			}
			if _, err := d.decide(t, b.Pool, b.hold); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			wantSQLState(t, stage(t.Context(), writer, b.hold, "late"), d.code)
			if err := writer.Commit(t.Context()); err == nil {
				t.Error("the refused transaction committed")
			}
			if things := b.things(t); len(things) != 0 {
				t.Errorf("the refused write left %v", things)
			}
		})
	}
}

// Exactly one of two different decisions wins, whichever is first; the other is told.
func TestReleaseAndCancelHaveOneWinner(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, order := range [][2]string{{"release", "cancel"}, {"cancel", "release"}, {"release", "drop"}, {"drop", "release"}} {
		t.Run(order[0]+" first, "+order[1]+" second", func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "a", "b")
			winner, loser := decisions[order[0]], decisions[order[1]]
			first := b.begin(t, pgx.TxOptions{})
			got, err := winner.decide(t, first, b.hold)
			if err != nil {
				t.Fatalf("%s: %v", order[0], err)
			}
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) error {
				_, err := loser.decide(t, tx, b.hold)
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatalf("commit the %s: %v", order[0], err)
			}
			wantRefused(t, second.wait(t), winner.refusal, b.hold, string(winner.state))
			if diff := cmp.Diff(winner.answer, got); diff != "" {
				t.Errorf("answer to the winner (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(winner.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"register", order[0]}, b.auditActions(t)); diff != "" {
				t.Errorf("audit (-want +got):\n%s", diff)
			}
		})
	}
}

// If the first rolls back, nothing was decided, and the second one's turn it is.
func TestSecondDecisionWinsWhenTheFirstRollsBack(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, order := range [][2]string{{"release", "cancel"}, {"cancel", "release"}} {
		t.Run(order[0]+" first, "+order[1]+" second", func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "a", "b")
			first := b.begin(t, pgx.TxOptions{})
			if _, err := decisions[order[0]].decide(t, first, b.hold); err != nil {
				t.Fatalf("%s: %v", order[0], err)
			}
			winner := decisions[order[1]]
			var got hold.Answer
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				got, err = winner.decide(t, tx, b.hold)
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Rollback(t.Context()); err != nil {
				t.Fatalf("roll back the %s: %v", order[0], err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("%s: %v", order[1], err)
			}
			if diff := cmp.Diff(winner.answer, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(winner.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// Two equal decisions at once: both succeed with the same answer, one made the change,
// and no event is in the log twice.
func TestTwoEqualDecisionsAtOnceChangeOnce(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for name, d := range decisions {
		t.Run(name, func(t *testing.T) {
			b := db.anotherActive(t)
			b.stage(t, b.Pool, b.hold, "a", "b")
			first := b.begin(t, pgx.TxOptions{})
			one, err := d.decide(t, first, b.hold)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var two hold.Answer
			second := b.start(t, pgx.TxOptions{}, func(tx pgx.Tx) (err error) {
				two, err = d.decide(t, tx, b.hold)
				return err
			})
			waitBlocked(t, b.Pool, second.pid)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatalf("commit the %s: %v", name, err)
			}
			if err := second.wait(t); err != nil {
				t.Fatalf("second %s: %v", name, err)
			}
			want := d.answer
			if diff := cmp.Diff(want, one); diff != "" {
				t.Errorf("first answer (-want +got):\n%s", diff)
			}
			want.Changed = false
			if diff := cmp.Diff(want, two); diff != "" {
				t.Errorf("second answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(d.log, b.log(t)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}
