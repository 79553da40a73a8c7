package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

func drawID(t *rapid.T) uuid.UUID {
	id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "operation"))
	id[0] |= 1 // not the null one
	return id
}

func drawStep(t *rapid.T) wire.Step {
	name := rapid.StringMatching(`[a-z][a-z0-9_.-]{0,30}`).Draw(t, "name")
	key, err := receipt.Named(name)
	if rapid.Bool().Draw(t, "indexed") {
		key, err = receipt.Indexed(name, rapid.IntRange(0, 999_999_999).Draw(t, "index"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return wire.Step{Operation: drawID(t), Generation: rapid.IntRange(1, 1<<31-1).Draw(t, "generation"), Key: key}
}

func TestStepIsReadAsItWasSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawStep(t)
		header := http.Header{}
		step.Set(header)
		got, present, err := wire.ReadStep(header)
		if err != nil || !present || got != step {
			t.Fatalf("%+v is read as %+v, %v, %v", step, got, present, err)
		}
		if err := got.Coherent("other", step.Key.Name()); err != nil {
			t.Fatalf("coherent: %v", err)
		}
		if err := got.Coherent(step.Key.Name() + "x"); err == nil {
			t.Fatal("another step is coherent")
		}
	})
}

// Whatever is in the headers: it is no step, a step that is written the same way, or refused
// without its text.
func TestNoHeaderIsTakenForAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		header := http.Header{}
		drawStep(t).Set(header)
		name := rapid.SampledFrom([]string{wire.OperationHeader, wire.GenerationHeader, wire.StepHeader}).Draw(t, "header")
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ 0+-]{0,2}[0-9]{1,12}`), rapid.StringMatching(`[a-z]{1,3}:[0-9]{0,11}`)).Draw(t, "text")
		header.Set(name, text)
		got, present, err := wire.ReadStep(header)
		if !present {
			t.Fatal("the other headers are not seen")
		}
		if err != nil {
			var invalid *outbox.InvalidArgumentError
			if !errors.As(err, &invalid) || invalid.Argument != name || outbox.Hint(err) == "" || len(text) > 8 && strings.Contains(err.Error(), text) {
				t.Fatalf("%q: error is %v", text, err)
			}
			return
		}
		again := http.Header{}
		got.Set(again)
		if !strings.EqualFold(again.Get(name), text) {
			t.Fatalf("%q is read as %q", text, again.Get(name))
		}
	})
}

func TestBodiesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	operation := uuid.New()
	answer := wire.Answer{Operation: operation, Generation: 2, State: "released", MaxGeneration: 3, Held: 1, Released: 2, Dropped: 3, Changed: true}
	for _, body := range []any{
		wire.RegisterRequest{ExpiresAt: &at, OnExpiry: "cancel"}, wire.RegisterRequest{}, wire.DecideRequest{Reason: "why"}, answer,
		wire.CancelAnswer{Answer: answer, Undone: 4, Quarantined: []wire.Entity{{Step: "a", Kind: "b", ID: "c"}}},
		wire.Operation{Operation: operation, NextAfter: 7, Generations: []wire.Generation{{Generation: 1, State: "active", MaxGeneration: 1, Held: 1,
			Receipts: 2, Quarantined: 3, RegisteredAt: at, DecidedAt: &at, CompensatedAt: &at, ExpiresAt: &at, OnExpiry: "alarm", Age: 1.5, Overdue: 0.25}}},
		wire.Problem{Type: wire.NotPrincipal, Title: "t", Status: 403, Detail: "d", Operation: &operation, Generation: 1, State: "active", MaxGeneration: 2, Pending: 3, Argument: "a"},
	} {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		into := reflect.New(reflect.TypeOf(body))
		if err := json.Unmarshal(text, into.Interface()); err != nil || !reflect.DeepEqual(into.Elem().Interface(), body) {
			t.Errorf("%s is read as %+v, %v", text, into.Elem().Interface(), err)
		}
	}
}
