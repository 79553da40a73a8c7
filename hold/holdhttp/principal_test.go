package holdhttp_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

func TestActiveGenerationBelongsToItsPrincipal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	b.stage(t, b.hold, 2)
	for _, verb := range []string{wire.Register, wire.Release, wire.Cancel} {
		p := wantProblem(t, b.post(t, billing, b.hold, verb), http.StatusForbidden, wire.NotPrincipal)
		if p.Operation == nil || p.Generation != 1 {
			t.Errorf("problem is %+v", p)
		}
		// One that would put it out of the way.
		if verb != wire.Release {
			wantProblem(t, b.post(t, billing, b.generation(2), verb), http.StatusForbidden, wire.NotPrincipal)
		}
	}
	if diff := cmp.Diff([]string{"1 register checkout"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if sent, held := b.events(t); sent != 0 || held != 2 {
		t.Errorf("%d sent, %d held", sent, held)
	}
	got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Release))
	if got.Released != 2 {
		t.Errorf("release by the principal: %+v", got)
	}
}

func TestOperatorDecidesForEverybody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for verb, state := range map[string]string{wire.Release: "released", wire.Cancel: "cancelled"} {
		a := b.another()
		a.post(t, checkout, a.hold, wire.Register)
		got := wantAnswer[wire.CancelAnswer](t, a.post(t, alice, a.hold, verb))
		if got.State != state || !got.Changed {
			t.Errorf("%s: %+v", verb, got)
		}
		if diff := cmp.Diff([]string{"1 register checkout", "1 " + verb + " alice"}, a.audit(t)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
		// And the principal gets the same answer again.
		got = wantAnswer[wire.CancelAnswer](t, a.post(t, checkout, a.hold, verb))
		if got.State != state || got.Changed {
			t.Errorf("%s again: %+v", verb, got)
		}
	}
}

// A decided generation answers everybody who may call, and changes for nobody: a coordinator
// must get its answer also where an operator was first.
func TestDecidedGenerationAnswersEverybody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, alice, b.hold, wire.Cancel) // a tombstone of the operator
	got := wantAnswer[wire.CancelAnswer](t, b.post(t, checkout, b.hold, wire.Cancel))
	if got.State != "cancelled" || got.Changed {
		t.Errorf("cancel: %+v", got)
	}
	if got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Register)); got.State != "cancelled" || got.Changed {
		t.Errorf("register: %+v", got)
	}
	wantProblem(t, b.post(t, billing, b.hold, wire.Release), http.StatusConflict, wire.GenerationCancelled)
	if got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.generation(2), wire.Register)); got.State != "active" {
		t.Errorf("register of the next generation: %+v", got)
	}
	if diff := cmp.Diff([]string{"1 cancel alice", "2 register checkout"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// Somebody else registers after the first look and before the lock: what is judged is the row
// under the lock.
func TestPrincipalIsJudgedUnderTheLock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, verb := range []string{wire.Cancel, wire.Register} {
		a := b.another()
		tx, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(t.Context()) }) // it was committed
		if _, err := hold.Register(t.Context(), tx, a.hold, "checkout"); err != nil {
			t.Fatal(err)
		}
		done := make(chan answer, 1)
		go func() {
			got, err := a.send(t, billing, http.MethodPost, wire.VerbPath(a.hold, verb), "")
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		a.waitBlocked(t, 1) // the first look found no generation
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantProblem(t, <-done, http.StatusForbidden, wire.NotPrincipal)
		if found, err := hold.State(t.Context(), b.Pool, a.hold); err != nil || found.State != hold.Active || found.Principal != "checkout" {
			t.Errorf("%s: generation is %+v, %v", verb, found, err)
		}
	}
}

// The generation of a caller stays its own when an operator has registered a later one.
func TestLaterGenerationOfAnOperatorTakesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	b.post(t, alice, b.generation(2), wire.Register)
	if got := wantAnswer[wire.CancelAnswer](t, b.post(t, checkout, b.hold, wire.Cancel)); got.State != "cancelled" || !got.Changed {
		t.Errorf("cancel: %+v", got)
	}
	wantProblem(t, b.post(t, checkout, b.generation(2), wire.Cancel), http.StatusForbidden, wire.NotPrincipal)
}
