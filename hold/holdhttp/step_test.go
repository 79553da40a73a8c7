package holdhttp_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

// persons is a service whose creates may be steps of an operation.
func persons(b *testBundle) http.Handler {
	return holdhttp.WithStep(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail := func(err error) {
			if !holdhttp.Refuse(w, err) {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
		step, held := holdhttp.StepOf(r.Context())
		if !held {
			w.WriteHeader(http.StatusCreated)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, step.Coherent("person")); err != nil {
			fail(err)
			return
		}
		digest := sha256.Sum256(body)
		var result receipt.Result
		err = pgx.BeginFunc(r.Context(), b.Pool, func(tx pgx.Tx) error {
			result, err = receipt.Do(r.Context(), tx, receipt.Step{Operation: step.Operation, Generation: step.Generation, Key: step.Key,
				EntityKind: "person", BodyDigest: digest[:]}, func(pgx.Tx) (string, error) { return "p1", nil })
			return err
		})
		if err != nil {
			fail(err)
			return
		}
		w.Header().Set("Outcome", string(result.Outcome))
		w.WriteHeader(http.StatusCreated)
	}))
}

func TestHeldWritesOfAService(t *testing.T) {
	t.Parallel()
	b := setup(t)
	service := *b
	service.serve(t, func(http.Handler) http.Handler { return persons(b) })
	create := func(body, operation, generation, key string) answer {
		return service.call(t, "", http.MethodPost, "/persons", body, func(r *http.Request) {
			for name, value := range map[string]string{
				holdhttp.OperationHeader: operation, holdhttp.GenerationHeader: generation, holdhttp.StepHeader: key,
			} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
		})
	}
	operation := b.hold.Operation.String()
	if got := create("a", "", "", ""); got.status != http.StatusCreated {
		t.Errorf("a write without a step: %+v", got)
	}
	for _, c := range [][4]string{
		{operation, "1", "", wire.StepHeader}, {operation, "", "person", wire.GenerationHeader}, {"", "1", "person", wire.OperationHeader},
		{"x", "1", "person", wire.OperationHeader}, {operation, "0", "person", wire.GenerationHeader}, {operation, "1", "Person", wire.StepHeader},
		{operation, "1", "person:01", wire.StepHeader}, {operation, "1", "household", wire.StepHeader},
	} {
		p := wantProblem(t, create("a", c[0], c[1], c[2]), http.StatusBadRequest, wire.StepInvalid)
		if p.Argument != c[3] {
			t.Errorf("%v: the problem is with %q", c, p.Argument)
		}
	}
	wantProblem(t, create("a", operation, "1", "person"), http.StatusConflict, wire.GenerationUnknown)
	b.post(t, checkout, b.hold, wire.Register)
	for _, outcome := range []string{"applied", "replayed"} {
		if got := create("a", operation, "1", "person"); got.status != http.StatusCreated || got.header.Get("Outcome") != outcome {
			t.Errorf("the step is %+v, want %s", got, outcome)
		}
	}
	wantProblem(t, create("b", operation, "1", "person"), http.StatusConflict, wire.StepConflict)
	b.post(t, checkout, b.hold, wire.Cancel)
	p := wantProblem(t, create("a", operation, "1", "person"), http.StatusGone, wire.GenerationCancelled)
	if p.State != "cancelled" || p.Generation != 1 {
		t.Errorf("problem is %+v", p)
	}
	b.post(t, checkout, b.generation(2), wire.Register)
	b.post(t, checkout, b.generation(3), wire.Register)
	wantProblem(t, create("a", operation, "2", "person"), http.StatusConflict, wire.GenerationSuperseded)
	b.post(t, checkout, b.generation(3), wire.Release)
	wantProblem(t, create("a", operation, "3", "person"), http.StatusConflict, wire.GenerationReleased)
	twice := service.call(t, "", http.MethodPost, "/persons", "a", func(r *http.Request) { r.Header[wire.StepHeader] = []string{"person", "person"} })
	wantProblem(t, twice, http.StatusBadRequest, wire.StepInvalid)
	if g, err := hold.State(t.Context(), b.Pool, b.hold); err != nil || g.State != hold.Cancelled {
		t.Errorf("generation is %+v, %v", g, err)
	}
}
