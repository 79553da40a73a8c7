package retention

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Keeper looks after the retention of one database. Run as many as there are pods: one at a time
// does the work. Its methods are safe for concurrent use.
type Keeper struct {
	cfg     Config
	db      *pgxpool.Pool
	sql     map[string]string
	metrics *metrics

	mu     sync.Mutex
	stats  Stats
	told   string    // the last problem that was logged
	pruned time.Time // when old records were looked for last, by the clock of the process
}

// New makes a keeper. It connects to nothing.
func New(db *pgxpool.Pool, cfg Config) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics()
	if err != nil {
		return nil, fmt.Errorf("new keeper: %w", err)
	}
	return &Keeper{cfg: cfg, db: db, sql: statements(cfg.Schema), metrics: m, stats: Stats{Refusals: map[Outcome]int64{}}}, nil
}

// Run makes a pass at once and then one every period, until ctx ends. What goes wrong is logged when
// it changes, and tried again: retention is never a reason to stop draining.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.cfg.Every)
	defer ticker.Stop()
	for {
		report, err := k.Pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		k.tell(report, err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// tell logs a problem when it is another than the one before.
func (k *Keeper) tell(r *Report, err error) {
	problem, attrs := "", []any(nil)
	switch {
	case err != nil:
		problem, attrs = err.Error(), []any{"error", err, "hint", outbox.Hint(err)}
	case r.State.Keep > r.State.Longest:
		problem = "too long"
		attrs = []any{"retention", r.State.Keep, "longest", r.State.Longest,
			"hint", "lower RELAY_RETENTION: slots are written again before they may be emptied"}
	case len(r.State.Late()) > 0 && len(r.Emptied) == 0:
		slot := r.State.Late()[0]
		problem = fmt.Sprint(slot.Slot, slot.Outcome)
		attrs = []any{"slot", slot.Slot, "because", slot.Outcome, "why", r.State.Reason(slot), "overdue", r.State.Overdue(slot).Round(time.Second)}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if problem == k.told {
		return
	}
	k.told = problem
	if problem != "" {
		k.cfg.Logger.Warn("retention does not proceed: nothing is lost, the log grows", attrs...)
	} else {
		k.cfg.Logger.Info("retention proceeds")
	}
}

// Report is what a pass found and did.
type Report struct {
	State   *State // before the pass did anything
	Emptied []Step
	Moved   int64  // held events, out of the way
	Refused []Step // slots that could not be emptied although they are old enough
	Pruned  Pruned
	// Taken says that another pod has the lease: there was something to do, and it does it.
	Taken bool
}

// Step is what became of a slot.
type Step struct {
	Slot    int16
	Outcome Outcome
	Why     string
	Bytes   int64 // that were freed
	Events  int64 // as the statistics of the server had it
}

// errLost ends a pass whose lease is somebody else's.
var errLost = errors.New("the maintenance lease was lost: another pod goes on")

// Pass looks once and does what can be done. It writes nothing when there is nothing to do. An
// error does not undo what was done before it.
func (k *Keeper) Pass(ctx context.Context) (*Report, error) {
	var state *State
	err := k.step(ctx, func(ctx context.Context) (err error) {
		state, err = Look(ctx, k.db, k.cfg.Schema, k.cfg.Keep)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &Report{State: state}
	defer func() { k.count(ctx, r) }()
	prune := k.pruneIsDue()
	if !state.actionable() && !prune {
		r.refuse()
		return r, nil
	}
	token, err := k.claim(ctx)
	if err != nil || token == "" {
		r.Taken = token == "" && err == nil
		return r, err
	}
	defer k.release(ctx, token)
	if err := k.rotate(ctx, token, r); err != nil {
		return r, err
	}
	if prune {
		if err := k.prune(ctx, token, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// refuse reports the slots that are old enough and that no attempt would help.
func (r *Report) refuse() {
	for _, slot := range r.State.Slots {
		switch slot.Outcome {
		case Empty, Current, Young, Ready, Held:
		default:
			r.Refused = append(r.Refused, Step{Slot: slot.Slot, Outcome: slot.Outcome, Why: slot.Why})
		}
	}
}

// rotate tries the slots one after the other.
func (k *Keeper) rotate(ctx context.Context, token string, r *Report) error {
	r.refuse()
	for _, slot := range r.State.Slots {
		if slot.Outcome != Ready && slot.Outcome != Held {
			continue
		}
		step, err := k.empty(ctx, token, slot, r)
		if err != nil {
			return fmt.Errorf("empty slot %d: %w", slot.Slot, err)
		}
		switch step.Outcome {
		case Emptied:
			step.Events = slot.Events
			r.Emptied = append(r.Emptied, step)
			k.cfg.Logger.Info("slot emptied", "slot", step.Slot, "events", step.Events, "bytes", step.Bytes)
		case Empty, Current, Young: // the clock went on, or it was emptied
		default:
			r.Refused = append(r.Refused, step)
		}
	}
	return nil
}

// empty moves what is held and empties the slot, or says why not.
func (k *Keeper) empty(ctx context.Context, token string, slot Slot, r *Report) (Step, error) {
	for {
		if err := k.renew(ctx, token); err != nil {
			return Step{}, err
		}
		step := Step{Slot: slot.Slot}
		var moved int64
		err := k.step(ctx, func(ctx context.Context) error {
			return k.db.QueryRow(ctx, k.sql["rotate"], token, slot.Slot, r.State.Keep, moveAtMost).Scan(&step.Outcome, &step.Why, &moved, &step.Bytes)
		})
		switch {
		case lockTimeout(err):
			step.Outcome, step.Why = Busy, "a lock was not to be had"
			return step, nil
		case err != nil:
			return step, withHint(err)
		case step.Outcome == Lost:
			return step, errLost
		case step.Outcome != Moved:
			return step, nil
		}
		r.Moved += moved
	}
}

// moveAtMost is how many held events one transaction moves: each is written anew.
const moveAtMost = 500
