package holdhttp_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold/wire"
)

// cutAnswers lets every call be made and commit, and ends the connection in place of the
// answer, while the switch is on.
func cutAnswers(on *atomic.Bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !on.Load() {
				next.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
}

// Each call is repeated after its answer was lost, and gets the answer of then with changed
// false; it happened once.
func TestEveryCallIsSafeToRepeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var cut atomic.Bool
	lossy := *b
	lossy.serve(t, cutAnswers(&cut))
	for _, last := range []string{wire.Release, wire.Cancel} {
		a := lossy.another()
		for _, verb := range []string{wire.Register, last} {
			cut.Store(true)
			if got, err := a.send(t, checkout, http.MethodPost, wire.VerbPath(a.hold, verb), ""); err == nil {
				t.Fatalf("%s: the answer %+v was not lost", verb, got)
			}
			cut.Store(false)
			one := wantAnswer[wire.CancelAnswer](t, a.post(t, checkout, a.hold, verb))
			two := wantAnswer[wire.CancelAnswer](t, a.post(t, checkout, a.hold, verb))
			if diff := cmp.Diff(one, two); diff != "" || one.Changed {
				t.Errorf("%s: answer %+v, then (-first +second):\n%s", verb, one, diff)
			}
			if verb == wire.Register {
				a.stage(t, a.hold, 2)
			} else if one.Released+one.Dropped != 2 {
				t.Errorf("%s: answer %+v", verb, one)
			}
		}
		if diff := cmp.Diff([]string{"1 register checkout", "1 " + last + " checkout"}, a.audit(t)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
	}
}
