package holdhttp

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// pageSize is how many generations one answer has at most.
const pageSize = 100

func (h *Handler) show(ctx context.Context, c *call) (any, error) {
	operation, err := wire.ParseOperation(c.params[0])
	if err != nil {
		return nil, invalid("operation")
	}
	filter := hold.Filter{Operation: operation, Limit: pageSize}
	if c.after > 0 {
		filter.After = outbox.Hold{Operation: operation, Generation: c.after}
	}
	page, err := h.store.List(ctx, h.db, filter)
	if err != nil {
		return nil, err
	}
	if len(page) == 0 && c.after == 0 {
		p := wire.NewProblem(wire.OperationUnknown)
		p.Operation = &operation
		return nil, &fault{problem: p}
	}
	answer := wire.Operation{Operation: operation, Generations: make([]wire.Generation, len(page))}
	for i, l := range page {
		answer.Generations[i] = generationOf(l)
	}
	if len(page) == pageSize {
		answer.NextAfter = page[pageSize-1].Hold.Generation
	}
	return answer, nil
}

// generationOf leaves out who decided and why: a person may be named there.
func generationOf(l hold.Listed) wire.Generation {
	return wire.Generation{
		Generation: l.Hold.Generation, State: string(l.State), MaxGeneration: l.MaxGeneration,
		Held: l.Held, Released: l.Released, Dropped: l.Dropped, Receipts: l.Receipts, Quarantined: l.Quarantined,
		RegisteredAt: l.RegisteredAt, DecidedAt: optional(l.DecidedAt), CompensatedAt: optional(l.Compensated),
		ExpiresAt: optional(l.ExpiresAt), OnExpiry: string(l.OnExpiry),
		Age: l.Age.Seconds(), Overdue: l.Overdue.Seconds(),
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
