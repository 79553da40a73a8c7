package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/internal/position"
)

// Plan is what a replay will publish.
type Plan struct {
	Stream, Schema, Group string
	Epoch                 int64
	Subjects              string // of the messages, as a filter

	// Events is how many events will be published, with so many bytes of data; with a limit,
	// no more than that.
	Events, Bytes int64
	// Oldest and Newest are when the first and the last of them was staged; zero when there is none.
	Oldest, Newest time.Time
	// Held and OnTheirWay are in the window too, and are not replayed: held events, and those
	// that a relay has still to publish, or that wait or were given up.
	Held, OnTheirWay int64

	window position.Window
	cfg    Config // that it is for
}

// MakePlan says what [Run] would publish. It changes nothing, and reads the window once. Errors
// that say why there is no plan: [ErrNoGroup], an [*outbox.SchemaError].
func MakePlan(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Plan, error) {
	plan, _, err := prepare(ctx, pool, cfg)
	return plan, err
}

// prepare checks and counts, and returns the plan with the settings that it is for.
func prepare(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Plan, Config, error) {
	if err := cfg.Validate(); err != nil {
		return nil, cfg, fmt.Errorf("plan the replay: %w", err)
	}
	cfg = cfg.withDefaults()
	encoder, err := cfg.encoder()
	if err != nil {
		return nil, cfg, fmt.Errorf("plan the replay: %w", err)
	}
	plan := &Plan{Stream: cfg.Relay.Stream, Schema: cfg.Relay.Schema, Group: cfg.Relay.Group, Epoch: cfg.Epoch, Subjects: encoder.Subjects(), cfg: cfg}
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return plan.read(ctx, tx, cfg)
	})
	if err != nil {
		return nil, cfg, fmt.Errorf("plan the replay: %w", err)
	}
	cfg.Epoch = plan.Epoch
	return plan, cfg, nil
}

func (p *Plan) read(ctx context.Context, tx pgx.Tx, cfg Config) error {
	found, err := outbox.ReadSchema(ctx, tx, p.Schema)
	if err == nil {
		err = found.Check("outbox", "relay")
	}
	if err != nil {
		return err
	}
	sql := statements(p.Schema)
	var group bool
	var now int64 // one clock numbers all replays, wherever they are started
	if err := tx.QueryRow(ctx, sql["group"], p.Group).Scan(&group, &now); err != nil {
		return err
	}
	if p.Epoch == 0 {
		p.Epoch = now
	}
	if !group {
		return fmt.Errorf("group %s: %w", p.Group, ErrNoGroup)
	}
	if p.window, err = position.Between(ctx, tx, p.Schema, cfg.Since, cfg.Until); err != nil {
		return err
	}
	var oldest, newest *time.Time
	var last int64
	err = tx.QueryRow(ctx, sql["summary"], p.Group, p.window.First, p.window.End, cfg.After, null(cfg.Type), null(cfg.Key)).
		Scan(&p.Events, &p.Bytes, &p.Held, &p.OnTheirWay, &oldest, &newest, &last)
	if err != nil {
		return fmt.Errorf("count the events: %w", err)
	}
	if oldest != nil {
		p.Oldest, p.Newest = *oldest, *newest
	}
	if cfg.Limit > 0 {
		p.Events = min(p.Events, cfg.Limit)
	}
	p.window.End = min(p.window.End, last+1) // what is staged from now on is not replayed
	return nil
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
