package receipt_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

func TestFirstCallApplies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := b.do(t, b.step(t, "body"), b.apply(t.Context(), "p1"))
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	if diff := cmp.Diff(receipt.Result{Outcome: receipt.Applied, StableID: "p1"}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(once("p1"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

func TestRepeatedCallReplays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.do(t, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	for range 3 {
		got, err := b.do(t, b.step(t, "body"), never(t))
		if err != nil {
			t.Fatalf("do again: %v", err)
		}
		if diff := cmp.Diff(receipt.Result{Outcome: receipt.Replayed, StableID: "p1"}, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(once("p1"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// Also in the transaction of the first call, before anything is committed.
func TestRepeatedCallInOneTransactionReplays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := b.begin(t, pgx.TxOptions{})
	if _, err := receipt.Do(t.Context(), tx, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	got, err := receipt.Do(t.Context(), tx, b.step(t, "body"), never(t))
	if err != nil {
		t.Fatalf("do again: %v", err)
	}
	if diff := cmp.Diff(receipt.Result{Outcome: receipt.Replayed, StableID: "p1"}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if diff := cmp.Diff(once("p1"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

func TestRolledBackStepLeavesNothingAndAppliesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := b.begin(t, pgx.TxOptions{})
	if _, err := receipt.Do(t.Context(), tx, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatalf("roll back: %v", err)
	}
	if diff := cmp.Diff(nothing, b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
	got, err := b.do(t, b.step(t, "body"), b.apply(t.Context(), "p2"))
	if err != nil {
		t.Fatalf("do again: %v", err)
	}
	if diff := cmp.Diff(receipt.Result{Outcome: receipt.Applied, StableID: "p2"}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// A savepoint is enough to go on after a step that failed.
func TestFailedStepInASavepointLeavesTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failure := errors.New("no such household")
	err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
		err := pgx.BeginFunc(t.Context(), tx, func(inner pgx.Tx) error {
			_, err := receipt.Do(t.Context(), inner, b.step(t, "body"), func(tx pgx.Tx) (string, error) {
				_, err := b.apply(t.Context(), "p1")(tx)
				return "", errors.Join(err, failure)
			})
			return err
		})
		if !errors.Is(err, failure) {
			return fmt.Errorf("the step's error is %w, want %w", err, failure)
		}
		_, err = receipt.Do(t.Context(), tx, b.step(t, "body"), b.apply(t.Context(), "p2"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once("p2"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// The error comes back as it is, and a caller who doesn't heed it can't commit half a step.
func TestFailedStepCannotBeCommitted(t *testing.T) {
	t.Parallel()
	failure := errors.New("no such household")
	db := setup(t)
	for name, apply := range map[string]func(pgx.Tx) (string, error){
		"error":          func(pgx.Tx) (string, error) { return "", failure },
		"error with id":  func(pgx.Tx) (string, error) { return "p1", failure },
		"empty id":       func(pgx.Tx) (string, error) { return "", nil },
		"long id":        func(pgx.Tx) (string, error) { return strings.Repeat("x", 256), nil },
		"id with a null": func(pgx.Tx) (string, error) { return "a\x00b", nil },
	} {
		t.Run(name, func(t *testing.T) {
			b := db.another(t)
			tx := b.begin(t, pgx.TxOptions{})
			got, err := receipt.Do(t.Context(), tx, b.step(t, "body"), apply)
			if strings.HasPrefix(name, "error") && !errors.Is(err, failure) {
				t.Errorf("error is %v, want %v", err, failure)
			}
			if !strings.HasPrefix(name, "error") {
				wantArgument(t, err, "stable_id")
			}
			if diff := cmp.Diff(receipt.Result{}, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if err := tx.Commit(t.Context()); sqlState(err) != "HF015" {
				t.Errorf("error of the commit is %v, want SQLSTATE HF015", err)
			}
			if diff := cmp.Diff(nothing, b.traces(t)); diff != "" {
				t.Errorf("traces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClosedGateRefusesTheStep(t *testing.T) {
	t.Parallel()
	db := setup(t)
	decide := func(t *testing.T, _ hold.Answer, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		state  string
		target error
		close  func(*testing.T, *testBundle)
	}{
		{outbox.StateUnknown, outbox.ErrGenerationUnknown, func(t *testing.T, b *testBundle) { b.hold.Operation = uuid.New() }},
		{outbox.StateCancelled, outbox.ErrGenerationCancelled, func(t *testing.T, b *testBundle) {
			answer, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test")
			decide(t, answer, err)
		}},
		{outbox.StateReleased, outbox.ErrGenerationReleased, func(t *testing.T, b *testBundle) {
			answer, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
			decide(t, answer, err)
		}},
		{outbox.StateSuperseded, outbox.ErrGenerationSuperseded, func(t *testing.T, b *testBundle) {
			answer, err := hold.Register(t.Context(), b.Pool, outbox.Hold{Operation: b.hold.Operation, Generation: 2}, "test")
			decide(t, answer, err)
		}},
	} {
		t.Run(c.state, func(t *testing.T) {
			b := db.another(t)
			c.close(t, b)
			tx := b.begin(t, pgx.TxOptions{})
			got, err := receipt.Do(t.Context(), tx, b.step(t, "body"), never(t))
			if diff := cmp.Diff(receipt.Result{Outcome: receipt.Refused, State: c.state}, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			var refused *outbox.HoldRefusedError
			if !errors.Is(err, c.target) || !errors.As(err, &refused) || refused.Operation != b.hold.Operation || refused.Generation != 1 {
				t.Errorf("error is %v, want %v for %v", err, c.target, b.hold)
			}
			if outbox.Retryable(err) || outbox.Hint(err) == "" {
				t.Errorf("retryable %v with hint %q, want a final error with a hint", outbox.Retryable(err), outbox.Hint(err))
			}
			if err := tx.Commit(t.Context()); err == nil {
				t.Error("the refused transaction committed")
			}
		})
	}
}

// A step that was applied before its generation was released is refused as well, and not
// replayed: the operation is over.
func TestAppliedStepOfAClosedGenerationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.do(t, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	got, err := b.do(t, b.step(t, "body"), never(t))
	if got.Outcome != receipt.Refused || !errors.Is(err, outbox.ErrGenerationReleased) {
		t.Errorf("result %+v, error %v, want a refusal of a released generation", got, err)
	}
}

func TestOtherBodyOrKindIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.do(t, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	otherKind := b.step(t, "body")
	otherKind.EntityKind = "animal"
	for name, step := range map[string]receipt.Step{"body": b.step(t, "edited"), "kind": otherKind} {
		got, err := b.do(t, step, never(t))
		if !errors.Is(err, receipt.ErrReceiptConflict) || got != (receipt.Result{}) {
			t.Errorf("other %s: result %+v, error %v, want ErrReceiptConflict", name, got, err)
		}
		if outbox.Retryable(err) || outbox.Hint(err) == "" {
			t.Errorf("other %s: retryable %v with hint %q, want a final error with a hint", name, outbox.Retryable(err), outbox.Hint(err))
		}
	}
	if diff := cmp.Diff(once("p1"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

func TestStepInsideItselfIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.do(t, b.step(t, "body"), func(tx pgx.Tx) (string, error) {
		result, err := receipt.Do(t.Context(), tx, b.step(t, "body"), never(t))
		return result.StableID, err
	})
	if !errors.Is(err, receipt.ErrReceiptIncomplete) {
		t.Errorf("error is %v, want ErrReceiptIncomplete", err)
	}
}

// The keys, generations and operations of other steps are others.
func TestReceiptsAreByOperationGenerationAndKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, err := receipt.Indexed("person", 0)
	if err != nil {
		t.Fatal(err)
	}
	indexed := b.step(t, "body")
	indexed.Key = key
	other := b.another(t)
	for i, step := range []receipt.Step{b.step(t, "body"), indexed, other.step(t, "body")} {
		id := fmt.Sprintf("p%d", i)
		got, err := b.do(t, step, func(pgx.Tx) (string, error) { return id, nil })
		if err != nil || got.Outcome != receipt.Applied {
			t.Errorf("step %d: outcome %q, error %v, want applied", i, got.Outcome, err)
		}
	}
	if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	b.hold.Generation = 2
	if _, err := hold.Register(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("register: %v", err)
	}
	got, err := b.do(t, b.step(t, "edited"), b.apply(t.Context(), "p9"))
	if err != nil || got.Outcome != receipt.Applied {
		t.Errorf("generation 2: outcome %q, error %v, want applied", got.Outcome, err)
	}
}

func TestBadStepsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.step(t, "body")
	for argument, spoil := range map[string]func(*receipt.Step){
		"operation":   func(s *receipt.Step) { s.Operation = uuid.Nil },
		"generation":  func(s *receipt.Step) { s.Generation = 0 },
		"step_key":    func(s *receipt.Step) { s.Key = receipt.StepKey{} },
		"entity_kind": func(s *receipt.Step) { s.EntityKind = "" },
		"body_digest": func(s *receipt.Step) { s.BodyDigest = make([]byte, 15) },
	} {
		tx := b.begin(t, pgx.TxOptions{})
		step := good
		spoil(&step)
		_, err := receipt.Do(t.Context(), tx, step, never(t))
		wantArgument(t, err, argument)
		if _, err := receipt.Do(t.Context(), tx, good, func(pgx.Tx) (string, error) { return "p1", nil }); err != nil {
			t.Errorf("%s: the transaction can't go on: %v", argument, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatalf("roll back: %v", err)
		}
	}
	long := good
	long.BodyDigest, long.EntityKind = bytes.Repeat([]byte{1}, 64), strings.Repeat("k", 100)
	if _, err := b.do(t, long, func(pgx.Tx) (string, error) { return strings.Repeat("x", 255), nil }); err != nil {
		t.Errorf("the largest step: %v", err)
	}
	if _, err := receipt.Do(t.Context(), nil, good, never(t)); !errors.Is(err, outbox.ErrNotTransaction) {
		t.Errorf("error without a transaction is %v, want ErrNotTransaction", err)
	}
}

func wantArgument(t testing.TB, err error, argument string) {
	t.Helper()
	var invalid *outbox.InvalidArgumentError
	if !errors.As(err, &invalid) || invalid.Argument != argument || outbox.Hint(err) == "" {
		t.Errorf("error is %v with hint %q, want a *outbox.InvalidArgumentError about %s and a hint", err, outbox.Hint(err), argument)
	}
}
