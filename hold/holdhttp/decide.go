package holdhttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

func (h *Handler) register(ctx context.Context, c *call) (any, error) {
	var request wire.RegisterRequest
	if err := parse(c.body, &request); err != nil {
		return nil, err
	}
	var opts []hold.RegisterOption
	switch {
	case request.ExpiresAt != nil:
		policy := hold.AlarmOnExpiry
		if request.OnExpiry != "" {
			policy = hold.OnExpiry(request.OnExpiry)
		}
		opts = append(opts, hold.ExpireAt(*request.ExpiresAt, policy))
	case request.OnExpiry != "":
		return nil, invalid("on_expiry")
	}
	answer, _, err := h.change(ctx, c, wire.Register, func(tx pgx.Tx, g outbox.Hold) (hold.Answer, error) {
		return h.store.Register(ctx, tx, g, c.caller, opts...)
	})
	return answer, err
}

func (h *Handler) release(ctx context.Context, c *call) (any, error) {
	because, err := reason(c)
	if err != nil {
		return nil, err
	}
	answer, _, err := h.change(ctx, c, wire.Release, func(tx pgx.Tx, g outbox.Hold) (hold.Answer, error) {
		return h.store.Release(ctx, tx, g, c.caller, because)
	})
	return answer, err
}

func (h *Handler) cancel(ctx context.Context, c *call) (any, error) {
	because, err := reason(c)
	if err != nil {
		return nil, err
	}
	answer, ours, err := h.change(ctx, c, wire.Cancel, func(tx pgx.Tx, g outbox.Hold) (hold.Answer, error) {
		return h.store.Cancel(ctx, tx, g, c.caller, because)
	})
	if err != nil {
		return nil, err
	}
	return h.compensate(ctx, c, answer, ours)
}

// compensate undoes the entities of a generation that is cancelled now, if this service does so
// here and the generation is the caller's, and says what became of them.
func (h *Handler) compensate(ctx context.Context, c *call, answer wire.Answer, ours bool) (any, error) {
	done := wire.CancelAnswer{Answer: answer, Quarantined: []wire.Entity{}}
	g := outbox.Hold{Operation: answer.Operation, Generation: answer.Generation}
	var left []hold.Quarantined
	if h.cfg.Compensator == nil || !ours {
		var err error
		if left, err = h.store.Quarantined(ctx, h.db, g); err != nil {
			return nil, err
		}
	} else {
		result, err := h.store.Compensate(ctx, h.db, g, c.caller, h.cfg.Compensator)
		if err != nil || result.Pending > 0 {
			p := wire.NewProblem(wire.CompensationIncomplete)
			p.Operation, p.Generation, p.State, p.Pending = &answer.Operation, answer.Generation, answer.State, result.Pending
			return nil, &fault{p, err}
		}
		done.Undone, left = result.Undone, result.Quarantined
	}
	for _, q := range left {
		done.Quarantined = append(done.Quarantined, wire.Entity{Step: q.Step, Kind: q.EntityKind, ID: q.StableID})
	}
	return done, nil
}

func reason(c *call) (hold.DecideOption, error) {
	var request wire.DecideRequest
	if err := parse(c.body, &request); err != nil {
		return nil, err
	}
	return hold.Because(request.Reason), nil
}

// change makes a call and judges whose the generation is, in one transaction: the row's lock
// is held, so nobody becomes its principal in between. ours says that the caller may decide
// about it.
func (h *Handler) change(ctx context.Context, c *call, verb string,
	run func(pgx.Tx, outbox.Hold) (hold.Answer, error),
) (answer wire.Answer, ours bool, err error) {
	g, err := c.hold()
	if err != nil {
		return wire.Answer{}, false, err
	}
	// Spares a stranger's call its work, which would be undone. It decides nothing.
	if err := h.judge(ctx, h.db, c, g); err != nil {
		return wire.Answer{}, false, err
	}
	tx, err := h.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return wire.Answer{}, false, fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)
	did, err := run(tx, g)
	if err != nil {
		return wire.Answer{}, false, err
	}
	ours, err = h.confirm(ctx, tx, c, g, did)
	if err != nil {
		return wire.Answer{}, false, err
	}
	if err := tx.Commit(ctx); err != nil {
		return wire.Answer{}, false, fmt.Errorf("commit: %w", err)
	}
	if did.Changed {
		h.cfg.Logger.InfoContext(ctx, "control call changed a generation", "operation", g.Operation, "generation", g.Generation,
			"call", verb, "caller", c.caller, "state", did.State, "released", did.Released, "dropped", did.Dropped)
	}
	return answerOf(g, did), ours, nil
}

// judge refuses a call about an active generation of somebody else.
func (h *Handler) judge(ctx context.Context, db hold.DB, c *call, g outbox.Hold) error {
	if c.operator {
		return nil
	}
	found, err := h.store.State(ctx, db, g)
	if errors.Is(err, outbox.ErrGenerationUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.State == hold.Active && found.Principal != c.caller {
		return h.notPrincipal(ctx, c, g)
	}
	return nil
}

// confirm judges a change that was made in tx and is not committed.
func (h *Handler) confirm(ctx context.Context, tx pgx.Tx, c *call, g outbox.Hold, did hold.Answer) (ours bool, err error) {
	if c.operator {
		return true, nil
	}
	found, err := h.store.State(ctx, tx, g)
	if err != nil {
		return false, err
	}
	ours = found.Principal == c.caller
	if !ours && (did.Changed || found.State == hold.Active) {
		return false, h.notPrincipal(ctx, c, g)
	}
	if !did.Changed {
		return ours, nil
	}
	// A later generation takes the place of an earlier one, whose principal must be the same.
	others, err := h.store.List(ctx, tx, hold.Filter{Operation: g.Operation, State: hold.Active, Limit: 1000})
	if err != nil {
		return false, err
	}
	for _, other := range others {
		if other.Hold.Generation < g.Generation && other.Principal != c.caller {
			return false, h.notPrincipal(ctx, c, g)
		}
	}
	return ours, nil
}

func (h *Handler) notPrincipal(ctx context.Context, c *call, g outbox.Hold) error {
	h.cfg.Logger.WarnContext(ctx, "control call for a generation of another caller", "caller", c.caller,
		"operation", g.Operation, "generation", g.Generation)
	p := wire.NewProblem(wire.NotPrincipal)
	p.Operation, p.Generation = &g.Operation, g.Generation
	return &fault{problem: p}
}

func answerOf(g outbox.Hold, a hold.Answer) wire.Answer {
	return wire.Answer{Operation: g.Operation, Generation: g.Generation, State: string(a.State), MaxGeneration: a.MaxGeneration,
		Held: a.Held, Released: a.Released, Dropped: a.Dropped, Changed: a.Changed}
}

const rollbackLimit = 5 * time.Second

// rollback ends a transaction that was not committed, also when ctx has ended.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	_ = tx.Rollback(ctx) // reports only that the transaction is over, or its connection
}
