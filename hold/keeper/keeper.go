package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Keeper looks after the holds in one database. Its methods are safe for concurrent use.
type Keeper struct {
	cfg   Config
	db    *pgxpool.Pool
	store *hold.Store

	metrics *metrics
	overdue atomic.Int64 // generations, as they were told last
}

// New makes a keeper. It connects to nothing. Errors: [*ConfigError].
func New(db *pgxpool.Pool, cfg Config) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	store, err := hold.New(hold.Config{Schema: cfg.Schema})
	if err != nil {
		return nil, fmt.Errorf("new keeper: %w", err)
	}
	m, err := newMetrics(cfg.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("new keeper: %w", err)
	}
	return &Keeper{cfg: cfg, db: db, store: store, metrics: m}, nil
}

// Run makes a pass at once and then one every period, until ctx ends, and returns nil. What goes
// wrong is logged and tried again.
func (k *Keeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(k.cfg.Every)
	defer ticker.Stop()
	for {
		if _, err := k.Pass(ctx); err != nil && ctx.Err() == nil {
			k.cfg.Logger.Warn("holds are not all looked after", "error", err, "hint", outbox.Hint(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Report is what a pass did. The counts are of generations.
type Report struct {
	Released, Cancelled int
	Undecided           int // overdue ones that were put off
	Compensated         int // those of which nothing is left to undo now
	Pruned              hold.Pruned
	Waiting             hold.Measurement // after all that; zero if it could not be read
}

// Pass looks after what is due now, once. An error does not keep it from the rest, and does
// not undo what was done before; the report is never nil.
func (k *Keeper) Pass(ctx context.Context) (*Report, error) {
	r := &Report{}
	var errs []error
	for _, part := range []func(context.Context, *Report) error{k.expire, k.compensate, k.prune, k.measure} {
		if err := part(ctx, r); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r, errors.Join(errs...)
}
