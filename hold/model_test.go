package hold_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// model is the protocol of one operation, as simple as it can be said.
type model struct {
	max    int
	states map[int]hold.GenerationState
	held   map[int][]string // events that wait
	moved  map[int]hold.Answer
	log    []string
}

// gate says in which state a held write, or a release, finds the generation.
func (m *model) gate(n int) string {
	switch state := m.states[n]; {
	case state == "":
		return outbox.StateUnknown
	case state != hold.Active:
		return string(state)
	case n < m.max:
		return outbox.StateSuperseded
	default:
		return "" // open
	}
}

func (m *model) answer(n int, changed bool) hold.Answer {
	return hold.Answer{State: m.states[n], MaxGeneration: m.max, Held: int64(len(m.held[n])),
		Released: m.moved[n].Released, Dropped: m.moved[n].Dropped, Changed: changed}
}

// Each of these returns the answer, or the state of the refusal.

func (m *model) register(n int) (hold.Answer, string) {
	switch state := m.states[n]; {
	case n < m.max && (state == "" || state == hold.Active):
		return hold.Answer{}, outbox.StateSuperseded
	case state != "":
		return m.answer(n, false), ""
	}
	m.max, m.states[n] = n, hold.Active
	return m.answer(n, true), ""
}

func (m *model) release(n int) (hold.Answer, string) {
	if m.states[n] == hold.Released {
		return m.answer(n, false), ""
	}
	if refusal := m.gate(n); refusal != "" {
		return hold.Answer{}, refusal
	}
	m.log = append(m.log, m.held[n]...)
	m.moved[n] = hold.Answer{Released: int64(len(m.held[n]))}
	m.states[n], m.held[n] = hold.Released, nil
	return m.answer(n, true), ""
}

func (m *model) cancel(n int) (hold.Answer, string) {
	switch state := m.states[n]; {
	case state == hold.Cancelled:
		return m.answer(n, false), ""
	case state == hold.Released:
		return hold.Answer{}, outbox.StateReleased
	case state == "" && n < m.max:
		return hold.Answer{}, outbox.StateUnknown
	}
	m.moved[n] = hold.Answer{Dropped: int64(len(m.held[n]))}
	m.max, m.states[n], m.held[n] = max(m.max, n), hold.Cancelled, nil
	return m.answer(n, true), ""
}

// Any sequence of calls gives the answers, and leaves the events, of the model.
func TestAnySequenceOfCallsFollowsTheModel(t *testing.T) {
	t.Parallel()
	db := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := &testBundle{Database: db.Database, hold: outbox.Hold{Operation: uuid.New()}}
		m := &model{states: map[int]hold.GenerationState{}, held: map[int][]string{}, moved: map[int]hold.Answer{}}
		staged := 0
		for range rapid.IntRange(1, 25).Draw(rt, "calls") {
			n := rapid.IntRange(1, 4).Draw(rt, "generation")
			h := b.generation(n)
			switch name := rapid.SampledFrom([]string{"register", "stage", "stage", "release", "cancel", "drop"}).Draw(rt, "call"); name {
			case "register":
				want, refusal := m.register(n)
				got, err := hold.Register(t.Context(), b.Pool, h, "test")
				compare(rt, name, want, refusal, got, err)
			case "stage":
				id := fmt.Sprintf("e%d", staged)
				staged++
				refusal := m.gate(n)
				if refusal == "" {
					m.held[n] = append(m.held[n], id)
				}
				err := stage(t.Context(), b.Pool, h, id)
				if got := refusalCode(err); got != refusalCodes[refusal] {
					rt.Fatalf("stage: error is %v, want SQLSTATE %q", err, refusalCodes[refusal])
				}
			case "release":
				want, refusal := m.release(n)
				got, err := hold.Release(t.Context(), b.Pool, h, "test")
				compare(rt, name, want, refusal, got, err)
			default:
				want, refusal := m.cancel(n)
				got, err := decisions[name].decide(t, b.Pool, h)
				compare(rt, name, want, refusal, got, err)
			}
		}
		b.compareEvents(t, rt, m)
	})
}

func compare(rt *rapid.T, name string, want hold.Answer, refusal string, got hold.Answer, err error) {
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("%s: answer (-want +got):\n%s", name, diff)
	}
	if got := refusalState(err); got != refusal {
		rt.Fatalf("%s: error is %v, want a refusal with state %q", name, err, refusal)
	}
}

func (b *testBundle) compareEvents(t *testing.T, rt *rapid.T, m *model) {
	if diff := cmp.Diff(append([]string{}, m.log...), b.log(t)); diff != "" {
		rt.Fatalf("log (-want +got):\n%s", diff)
	}
	for n := 1; n <= 4; n++ {
		waiting := column[string](t, b.Pool, `SELECT event_id FROM outbox.event_outbox
			WHERE hold_operation_id = $1 AND hold_generation = $2 AND tx IS NULL ORDER BY seq`, b.hold.Operation, n)
		if diff := cmp.Diff(append([]string{}, m.held[n]...), waiting); diff != "" {
			rt.Fatalf("events that wait under generation %d (-want +got):\n%s", n, diff)
		}
	}
}
