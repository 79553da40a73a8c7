package history_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast/e2e/history"
)

// effect returns the effect of an event.
func effect(h *history.History, e history.Event) *history.Effect {
	return &h.Effects[slices.IndexFunc(h.Effects, func(f history.Effect) bool { return f.Name == e.Name })]
}

// wrongEffects are histories whose consumers did wrong.
var wrongEffects = []struct {
	name   string
	damage func(*history.History)
	want   map[string]int
}{
	{
		"an event was acknowledged and never applied",
		func(h *history.History) {
			h.Effects = slices.DeleteFunc(h.Effects, func(f history.Effect) bool { return f.Name == event("b", 1).Name })
		},
		map[string]int{"effects_once": 1},
	},
	{
		"a fact has no effect",
		func(h *history.History) { effect(h, event("b", 1)).Rows = 0 },
		map[string]int{"effects_once": 1},
	},
	{
		"a fact has two effects",
		func(h *history.History) { effect(h, event("r", 1)).Rows = 2 },
		map[string]int{"effects_once": 1},
	},
	{
		"an event is two facts",
		func(h *history.History) { h.Effects = append(h.Effects, *effect(h, event("b", 1))) },
		map[string]int{"effects_once": 1},
	},
	{
		"an effect says something else",
		func(h *history.History) { effect(h, event("b", 1)).Digest = event("b", 2).Digest },
		map[string]int{"effects_once": 1},
	},
	{
		"what was rolled back, is held, was dropped and was never staged has effects",
		func(h *history.History) {
			for _, e := range []history.Event{event("a", 3), event("o", 1), event("d", 1), event("x", 1)} {
				h.Effects = append(h.Effects, history.Effect{Name: e.Name, Rows: 1, Digest: e.Digest})
			}
		},
		map[string]int{"effects_once": 4},
	},
	{
		"an event is in the stream again, and has its one effect",
		func(h *history.History) { add(h, event("b", 1)).At = at(200_000) },
		nil,
	},
	{
		"nobody consumed",
		func(h *history.History) { h.Effects, h.Consumed = nil, false },
		nil,
	},
}
