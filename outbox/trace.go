package outbox

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

// traceFields are the extensions of the CloudEvents extension "distributed tracing" and
// of W3C Baggage, the most useful first.
var traceFields = []string{"traceparent", "tracestate", "baggage"}

// capture asks the propagator for the trace context of a call. What cannot be an
// extension, such as a header with a hyphen, is left out: an event is never refused for
// what surrounds it.
func (p *Publisher) capture(ctx context.Context) []member {
	carrier := propagation.MapCarrier{}
	p.propagator.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	captured := make([]member, 0, len(carrier))
	for name, v := range carrier {
		if text, problem, _ := extensionJSON(name, v); problem == "" && v != "" {
			captured = append(captured, member{name, text})
		}
	}
	rank := func(m member) int {
		if i := slices.Index(traceFields, m.name); i >= 0 {
			return i
		}
		return len(traceFields)
	}
	slices.SortFunc(captured, func(a, b member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.name, b.name))
	})
	return captured
}

// withTrace adds what was captured to an event's own extensions, whose size is given. An
// event that was created in a trace keeps it. What would bring the extensions over their
// limit is left out: the most voluminous first, which is the baggage, and a tracestate
// never stays without the traceparent that it belongs to.
func withTrace(own, captured []member, size int) []member {
	has := func(members []member, name string) bool {
		return slices.ContainsFunc(members, func(m member) bool { return m.name == name })
	}
	if len(captured) == 0 || has(own, traceFields[0]) {
		return own
	}
	all := own
	for _, m := range captured {
		added := memberSize(m)
		if len(all) == 0 {
			added -= len(`, `)
		}
		orphan := m.name == traceFields[1] && !has(all, traceFields[0])
		if size+added > maxExtensions || orphan || has(own, m.name) {
			continue
		}
		all = append(all, m)
		size += added
	}
	return all
}
