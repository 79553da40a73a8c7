package holdhttp_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
)

func TestRegisterReleaseAndLook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := wire.Answer{Operation: b.hold.Operation, Generation: 1, State: "active", MaxGeneration: 1, Changed: true}
	if diff := cmp.Diff(want, wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Register))); diff != "" {
		t.Errorf("register (-want +got):\n%s", diff)
	}
	b.stage(t, b.hold, 3)
	page := wantAnswer[wire.Operation](t, b.get(t, billing))
	if len(page.Generations) != 1 || page.Generations[0].Held != 3 || page.Generations[0].State != "active" || page.NextAfter != 0 {
		t.Errorf("operation is %+v", page)
	}
	want = wire.Answer{Operation: b.hold.Operation, Generation: 1, State: "released", MaxGeneration: 1, Released: 3, Changed: true}
	got := b.call(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Release), `{"reason":"paid"}`)
	if diff := cmp.Diff(want, wantAnswer[wire.Answer](t, got)); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	if sent, held := b.events(t); sent != 3 || held != 0 {
		t.Errorf("%d events in the log, %d held", sent, held)
	}
	if diff := cmp.Diff([]string{"1 register checkout", "1 release checkout paid"}, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if found, err := hold.State(t.Context(), b.Pool, b.hold); err != nil || found.Principal != "checkout" || found.DecidedBy != "checkout" {
		t.Errorf("generation is %+v, %v", found, err)
	}
}

func TestCancelDropsEventsAndLeavesATombstone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	b.stage(t, b.hold, 2)
	want := wire.CancelAnswer{
		Answer:      wire.Answer{Operation: b.hold.Operation, Generation: 1, State: "cancelled", MaxGeneration: 1, Dropped: 2, Changed: true},
		Quarantined: []wire.Entity{},
	}
	if diff := cmp.Diff(want, wantAnswer[wire.CancelAnswer](t, b.post(t, checkout, b.hold, wire.Cancel))); diff != "" {
		t.Errorf("cancel (-want +got):\n%s", diff)
	}
	// One that nobody registered.
	got := wantAnswer[wire.CancelAnswer](t, b.post(t, checkout, b.generation(2), wire.Cancel))
	if got.State != "cancelled" || !got.Changed || got.MaxGeneration != 2 {
		t.Errorf("cancel of an unknown generation: %+v", got)
	}
	late := wantAnswer[wire.Answer](t, b.post(t, checkout, b.generation(2), wire.Register))
	if late.State != "cancelled" || late.Changed {
		t.Errorf("register after the cancel: %+v", late)
	}
}

func TestRegisterTakesAnExpiry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b.call(t, checkout, http.MethodPost, wire.VerbPath(b.hold, wire.Register), `{"expires_at":"2030-01-02T03:04:05Z","on_expiry":"cancel"}`)
	found, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil || !found.ExpiresAt.Equal(at) || found.OnExpiry != hold.CancelOnExpiry {
		t.Errorf("generation is %+v, %v", found, err)
	}
	page := wantAnswer[wire.Operation](t, b.get(t, checkout))
	if g := page.Generations[0]; g.ExpiresAt == nil || !g.ExpiresAt.Equal(at) || g.OnExpiry != "cancel" || g.DecidedAt != nil {
		t.Errorf("generation is %+v", g)
	}
}

func TestOperationHasPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	query[int](t, b, `SELECT count(*) FROM generate_series(1, 150) n, LATERAL outbox.hold_cancel($1, n, 'test')`, b.hold.Operation.String())
	first := wantAnswer[wire.Operation](t, b.get(t, checkout))
	if len(first.Generations) != 100 || first.NextAfter != 100 {
		t.Errorf("first page has %d, next after %d", len(first.Generations), first.NextAfter)
	}
	second := wantAnswer[wire.Operation](t, b.call(t, checkout, http.MethodGet, wire.OperationPath(b.hold.Operation)+"?after=100", ""))
	if len(second.Generations) != 50 || second.Generations[0].Generation != 101 || second.NextAfter != 0 {
		t.Errorf("second page has %d, next after %d", len(second.Generations), second.NextAfter)
	}
}

// Ids, states, counts and times: nothing of an event, nobody's name, no reason.
func TestAnswersHoldIDsAndCountsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "someone@example.org")
	b.stage(t, b.hold, 2)
	page := b.get(t, checkout)
	cancelled := b.call(t, alice, http.MethodPost, wire.VerbPath(b.hold, wire.Cancel), `{"reason":"of Mrs Miller"}`)
	for _, got := range []answer{page, cancelled, b.get(t, checkout)} {
		for _, private := range []string{"someone", "Miller", "SECRET", "thing.made", "alice"} {
			if strings.Contains(got.body, private) || strings.Contains(b.log.String(), "Miller") {
				t.Errorf("answer has %s: %s", private, got.body)
			}
		}
	}
}

func TestTenThousandEventsAreReleasedInOneCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(t, checkout, b.hold, wire.Register)
	b.stage(t, b.hold, 10_000)
	got := wantAnswer[wire.Answer](t, b.post(t, checkout, b.hold, wire.Release))
	if sent, held := b.events(t); got.Released != 10_000 || sent != 10_000 || held != 0 {
		t.Errorf("answer %+v, %d sent, %d held", got, sent, held)
	}
}
