package receipt_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// call is a step that runs on its own connection.
type call struct {
	pid    uint32
	done   chan error // receives once
	result receipt.Result
}

func (b *testBundle) start(t testing.TB, options pgx.TxOptions, step receipt.Step, apply func(pgx.Tx) (string, error)) *call {
	t.Helper()
	tx := b.begin(t, options)
	c := &call{pid: tx.Conn().PgConn().PID(), done: make(chan error, 1)}
	go func() {
		var err error
		if c.result, err = receipt.Do(t.Context(), tx, step, apply); err == nil {
			err = tx.Commit(t.Context())
		}
		c.done <- err
	}()
	return c
}

func (c *call) wait(t testing.TB) (receipt.Result, error) {
	t.Helper()
	select {
	case err := <-c.done:
		return c.result, err
	case <-time.After(waitLimit):
		t.Fatalf("backend %d did not finish", c.pid)
		return receipt.Result{}, nil
	}
}

func TestSecondOfTwoCallsAtOnceWaitsAndReplays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(t, pgx.TxOptions{})
	if _, err := receipt.Do(t.Context(), first, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	second := b.start(t, pgx.TxOptions{}, b.step(t, "body"), never(t))
	b.waitBlocked(t, second.pid)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	got, err := second.wait(t)
	if err != nil {
		t.Fatalf("second: %v", err)
	}
	if diff := cmp.Diff(receipt.Result{Outcome: receipt.Replayed, StableID: "p1"}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(once("p1"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

func TestSecondOfTwoCallsAtOnceAppliesWhenTheFirstRollsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(t, pgx.TxOptions{})
	if _, err := receipt.Do(t.Context(), first, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	second := b.start(t, pgx.TxOptions{}, b.step(t, "body"), b.apply(t.Context(), "p2"))
	b.waitBlocked(t, second.pid)
	if err := first.Rollback(t.Context()); err != nil {
		t.Fatalf("roll back: %v", err)
	}
	got, err := second.wait(t)
	if err != nil || got.Outcome != receipt.Applied {
		t.Errorf("second: outcome %q, error %v, want applied", got.Outcome, err)
	}
	if diff := cmp.Diff(once("p2"), b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// At a stricter level the second call doesn't see the receipt that stopped it.
func TestSecondOfTwoCallsWithAnOldSnapshotGetsARetryableError(t *testing.T) {
	t.Parallel()
	db := setup(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			b := db.another(t)
			first := b.begin(t, pgx.TxOptions{})
			if _, err := receipt.Do(t.Context(), first, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
				t.Fatalf("do: %v", err)
			}
			second := b.start(t, pgx.TxOptions{IsoLevel: level}, b.step(t, "body"), never(t))
			b.waitBlocked(t, second.pid)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatalf("commit: %v", err)
			}
			if _, err := second.wait(t); !outbox.Retryable(err) {
				t.Errorf("error is %v, want a retryable one", err)
			}
		})
	}
}

// A cancel waits for a step that is open. So whoever compensates after the cancel sees
// the receipt of every step that got through.
func TestCancelSeesTheReceiptOfAnOpenStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	writer := b.begin(t, pgx.TxOptions{})
	if _, err := receipt.Do(t.Context(), writer, b.step(t, "body"), b.apply(t.Context(), "p1")); err != nil {
		t.Fatalf("do: %v", err)
	}
	canceller := b.begin(t, pgx.TxOptions{})
	pid := canceller.Conn().PgConn().PID()
	var seen int
	done := make(chan error, 1)
	go func() {
		_, err := hold.Cancel(t.Context(), canceller, b.hold, "test")
		if err == nil {
			err = canceller.QueryRow(t.Context(), `SELECT count(*) FROM outbox.hold_receipt WHERE operation_id = $1`, b.hold.Operation).Scan(&seen)
		}
		done <- errors.Join(err, canceller.Commit(t.Context()))
	}()
	b.waitBlocked(t, pid)
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("cancel: %v", err)
		}
	case <-time.After(waitLimit):
		t.Fatal("the cancel did not finish")
	}
	if seen != 1 {
		t.Errorf("the cancel saw %d receipts, want 1", seen)
	}
	want := traces{Receipts: []string{"p1"}, Persons: []string{"p1"}, Held: []string{}, Sent: []string{}}
	if diff := cmp.Diff(want, b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

func TestStepWaitsForAnOpenCancelAndIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.begin(t, pgx.TxOptions{})
	if _, err := hold.Cancel(t.Context(), first, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	second := b.start(t, pgx.TxOptions{}, b.step(t, "body"), never(t))
	b.waitBlocked(t, second.pid)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	got, err := second.wait(t)
	if !errors.Is(err, outbox.ErrGenerationCancelled) || got.Outcome != receipt.Refused {
		t.Errorf("result %+v, error %v, want a refusal of a cancelled generation", got, err)
	}
	if diff := cmp.Diff(nothing, b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// A later generation appears between the receipt and its event: the step is refused as a
// whole, and the result says so.
func TestStepThatIsSupersededHalfWayIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got, err := b.do(t, b.step(t, "body"), func(tx pgx.Tx) (string, error) {
		if _, err := hold.Register(t.Context(), b.Pool, outbox.Hold{Operation: b.hold.Operation, Generation: 2}, "test"); err != nil {
			return "", err
		}
		return b.apply(t.Context(), "p1")(tx)
	})
	if !errors.Is(err, outbox.ErrGenerationSuperseded) || got != (receipt.Result{Outcome: receipt.Refused, State: outbox.StateSuperseded}) {
		t.Errorf("result %+v, error %v, want a refusal of a superseded generation", got, err)
	}
	if diff := cmp.Diff(nothing, b.traces(t)); diff != "" {
		t.Errorf("traces (-want +got):\n%s", diff)
	}
}

// Many callers, each of whom repeats the same steps: every step happens once.
func TestStepsHappenOnceUnderConcurrentRepetition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const callers, steps = 6, 10
	applied := make([][steps]bool, callers) // each caller writes its own row
	var group errgroup.Group
	for c := range callers {
		group.Go(func() error {
			for i := range steps {
				step := b.step(t, "body")
				var err error
				if step.Key, err = receipt.Indexed("person", i); err != nil {
					return err
				}
				id := fmt.Sprintf("p%d", i)
				result, err := b.do(t, step, b.apply(t.Context(), id))
				if err != nil {
					return fmt.Errorf("caller %d step %d: %w", c, i, err)
				}
				if result.StableID != id {
					return fmt.Errorf("caller %d step %d: stable id %q", c, i, result.StableID)
				}
				applied[c][i] = result.Outcome == receipt.Applied
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		n := 0
		for c := range callers {
			if applied[c][i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("step %d was applied %d times", i, n)
		}
	}
	if got := b.traces(t); len(got.Receipts) != steps || len(got.Persons) != steps || len(got.Held) != steps {
		t.Errorf("traces %+v, want %d of each", got, steps)
	}
}
