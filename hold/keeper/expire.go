package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/round"
	"github.com/holdfast-dev/holdfast/outbox"
)

// expire looks after the overdue generations whose turn it is, one at a time, so that the
// lease of a turn has to last for one question only.
func (k *Keeper) expire(ctx context.Context, r *Report) error {
	var found round.Faults
	for range k.cfg.Most {
		turns, err := k.store.Overdue(ctx, k.db, k.cfg.Turn, k.cfg.Resolver == nil, 1)
		if err != nil {
			found.Add(err)
			break
		}
		if len(turns) == 0 {
			break
		}
		if err := k.decide(ctx, turns[0], r); err != nil {
			found.Add(fmt.Errorf("decide operation %s generation %d: %w", turns[0].Hold.Operation, turns[0].Hold.Generation, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found.Join()
}

// decide gives one overdue generation its end, or puts it off.
func (k *Keeper) decide(ctx context.Context, t hold.Turn, r *Report) error {
	verdict, err := k.ask(ctx, t.Hold)
	why := hold.Because("expired; the coordinator says " + string(verdict))
	if k.cfg.Resolver == nil {
		why = hold.Because("expired; its policy is cancel")
	}
	var answer hold.Answer
	switch verdict {
	case hold.Committed:
		answer, err = k.store.Release(ctx, k.db, t.Hold, k.cfg.Name, why)
	case hold.Aborted:
		answer, err = k.store.Expire(ctx, k.db, t.Hold, k.cfg.Name, why)
	default:
		return errors.Join(err, k.putOff(ctx, t, r))
	}
	if err != nil {
		return errors.Join(k.explain(verdict, err), k.putOff(ctx, t, r))
	}
	if answer.Changed {
		k.cfg.Logger.Info("overdue generation decided", "operation", t.Hold.Operation, "generation", t.Hold.Generation,
			"verdict", verdict, "state", answer.State, "released", answer.Released, "dropped", answer.Dropped)
		if answer.State == hold.Released {
			r.Released++
		} else {
			r.Cancelled++
		}
	}
	return nil
}

// ask returns what is to be done. No transaction is open meanwhile.
func (k *Keeper) ask(ctx context.Context, h outbox.Hold) (hold.Verdict, error) {
	if k.cfg.Resolver == nil {
		return hold.Aborted, nil // only those whose policy is cancel are given out
	}
	ctx, cancel := context.WithTimeout(ctx, k.cfg.ResolveTimeout)
	defer cancel()
	verdict, err := k.cfg.Resolver.Resolve(ctx, h)
	if err != nil {
		return hold.Unknown, fmt.Errorf("ask the coordinator: %w", err)
	}
	switch verdict {
	case hold.Committed, hold.Aborted, hold.Unknown:
		return verdict, nil
	}
	return hold.Unknown, fmt.Errorf("ask the coordinator: %q is not a verdict", verdict)
}

// explain tells a decision that came in between, which is well, from one that contradicts the
// coordinator, which a person has to see.
func (k *Keeper) explain(verdict hold.Verdict, err error) error {
	if !errors.Is(err, outbox.ErrGenerationReleased) && !errors.Is(err, outbox.ErrGenerationCancelled) {
		return err
	}
	if k.cfg.Resolver == nil {
		return nil
	}
	return fmt.Errorf("the coordinator says %s, and here it was decided otherwise: %w", verdict, err)
}

// putOff counts the turn. A pass that was stopped got no answer, so it counts nothing: the
// turn becomes somebody's when its lease is over.
func (k *Keeper) putOff(ctx context.Context, t hold.Turn, r *Report) error {
	if ctx.Err() != nil {
		return nil
	}
	r.Undecided++
	_, err := k.store.PutOff(ctx, k.db, t, k.pause(t.Attempts))
	return err
}

// pause doubles with each attempt.
func (k *Keeper) pause(attempts int) time.Duration {
	pause := k.cfg.Pause
	for ; attempts > 0 && pause < k.cfg.MaxPause; attempts-- {
		pause *= 2
	}
	return min(pause, k.cfg.MaxPause)
}
