package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

const (
	releasedEvents       = 10_000 // held under one generation
	concurrentOperations = 1000
	operationConnections = 16
)

// measureHold measures the release of 10,000 held events, and 1,000 operations at once: claim, one step
// at a participant, final transaction, release, all in one database.
func measureHold(ctx context.Context, r *rig) error {
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer drop()
	if err := releases(ctx, r, pool); err != nil {
		return err
	}
	return operations(ctx, r, pool)
}

// releases times one call; every run has 20 of them, and one in a quick look.
func releases(ctx context.Context, r *rig, pool *pgxpool.Pool) error {
	store, err := hold.New(hold.Config{})
	if err != nil {
		return err
	}
	list := figures{{Name: "release_p50_ms", Unit: "ms"}, {Name: "release_p99_ms", Unit: "ms"}}
	for i := range r.runs {
		progress("run %d of %d: releases of %d held events", i+1, r.runs, releasedEvents)
		var millis []float64
		for range max(r.scaled(20), 1) {
			h := outbox.Hold{Operation: uuid.New(), Generation: 1}
			if _, err := store.Register(ctx, pool, h, "bench"); err != nil {
				return err
			}
			if err := r.stageHeld(ctx, pool, h); err != nil {
				return err
			}
			start := time.Now()
			if _, err := store.Release(ctx, pool, h, "bench"); err != nil {
				return err
			}
			millis = append(millis, float64(time.Since(start).Microseconds())/1000)
		}
		list[0].Add(quantile(millis, 0.50))
		list[1].Add(quantile(millis, 0.99))
	}
	list.print()
	return nil
}

// stageHeld commits held events of a generation.
func (r *rig) stageHeld(ctx context.Context, pool *pgxpool.Pool, h outbox.Hold) error {
	_, err := pool.Exec(ctx, `INSERT INTO outbox.event_outbox (event_id, source, type, partition_key, datacontenttype, data, hold_operation_id, hold_generation, tx)
		SELECT gen_random_uuid()::text, '/bench', 'bench.happened', 'key-' || i, 'application/octet-stream', decode(repeat('00', $4), 'hex'), $2, $3, NULL
		  FROM generate_series(1, $1::int) AS i`, releasedEvents, h.Operation, h.Generation, r.size)
	if err != nil {
		return fmt.Errorf("stage held events: %w", err)
	}
	return nil
}

// operations runs 1,000 of them, which begin together and share some connections.
func operations(ctx context.Context, r *rig, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `CREATE TABLE draft (id uuid PRIMARY KEY); CREATE TABLE result (id uuid PRIMARY KEY, answer jsonb NOT NULL)`)
	if err != nil {
		return err
	}
	cfg := pool.Config()
	cfg.MaxConns = operationConnections
	own, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer own.Close()
	o, err := newOperations(own)
	if err != nil {
		return err
	}
	list := figures{{Name: "operation_p50_ms", Unit: "ms"}, {Name: "operation_p99_ms", Unit: "ms"}, {Name: "operation_rate", Unit: "operations/s"}}
	n := r.scaled(concurrentOperations)
	for i := range r.runs {
		progress("run %d of %d: %d operations at once", i+1, r.runs, n)
		millis := make([]float64, n)
		start := time.Now()
		var all errgroup.Group
		for j := range n {
			all.Go(func() error {
				began := time.Now()
				err := o.run(ctx)
				millis[j] = float64(time.Since(began).Microseconds()) / 1000
				return err
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		list[0].Add(quantile(millis, 0.50))
		list[1].Add(quantile(millis, 0.99))
		list[2].Add(float64(n) / time.Since(start).Seconds())
	}
	list.print()
	return nil
}

// operation is a coordinator whose participant is in the same database.
type operation struct {
	db          *pgxpool.Pool
	coordinator *saga.Coordinator
	keys        *saga.Keys
	step        receipt.StepKey
}

func newOperations(db *pgxpool.Pool) (o *operation, err error) {
	o = &operation{db: db}
	holds, err := hold.New(hold.Config{})
	if err != nil {
		return nil, err
	}
	// A thousand wait for a few connections: that is no failure of a call.
	store, err := saga.New(saga.Config{Settings: saga.Settings{Lease: 2 * time.Minute, ParticipantTimeout: time.Minute}})
	if err != nil {
		return nil, err
	}
	kinds := map[string]saga.Participants{"bench": {"registry": saga.NewDirect(db, holds, "bench", nil)}}
	if o.coordinator, err = saga.NewCoordinator(db, store, kinds, saga.Options{}); err != nil {
		return nil, err
	}
	if o.keys, err = saga.NewKeys("bench", map[string][]byte{"bench": make([]byte, 32)}); err != nil {
		return nil, err
	}
	o.step, err = receipt.Named("thing")
	return o, err
}

func (o *operation) run(ctx context.Context) error {
	id := uuid.New()
	if _, err := o.db.Exec(ctx, "INSERT INTO draft (id) VALUES ($1)", id); err != nil {
		return err
	}
	digest, err := o.keys.Digest("bench", id)
	if err != nil {
		return err
	}
	outcome, err := o.coordinator.ClaimOrResume(ctx, saga.Request{
		ID: id, Kind: "bench", Basis: json.RawMessage(`{}`), Digest: digest, Participants: []string{"registry"},
		Subject: func(ctx context.Context, tx pgx.Tx) (bool, error) {
			tag, err := tx.Exec(ctx, "SELECT FROM draft WHERE id = $1 FOR UPDATE", id)
			return tag.RowsAffected() > 0, err
		},
		Result: func(ctx context.Context, tx pgx.Tx) (answer json.RawMessage, err error) {
			err = tx.QueryRow(ctx, "SELECT (SELECT answer FROM result WHERE id = $1)", id).Scan(&answer)
			return answer, err
		},
	})
	if err != nil {
		return err
	}
	won, ours := outcome.(saga.Won)
	if !ours {
		return fmt.Errorf("claim: %s", outcome.Name())
	}
	_, err = o.coordinator.Run(ctx, won, saga.Work{
		Steps: []saga.Step{{Key: o.step, Kind: "thing", Do: o.create}},
		Final: func(ctx context.Context, tx pgx.Tx, _ map[string]string) (json.RawMessage, error) {
			if _, err := tx.Exec(ctx, `INSERT INTO result (id, answer) VALUES ($1, '{}')`, id); err != nil {
				return nil, err
			}
			_, err := tx.Exec(ctx, "DELETE FROM draft WHERE id = $1", id)
			return json.RawMessage(`{}`), err
		},
	})
	return err
}

// create is the participant: the thing, its held event and the receipt in one transaction.
func (o *operation) create(ctx context.Context, c saga.Call) (id string, err error) {
	step := receipt.Step{Operation: c.Hold.Operation, Generation: c.Hold.Generation, Key: c.Key, EntityKind: "thing", BodyDigest: make([]byte, 32)}
	err = pgx.BeginFunc(ctx, o.db, func(tx pgx.Tx) error {
		done, err := receipt.Do(ctx, tx, step, func(tx pgx.Tx) (string, error) {
			_, err := outbox.PublishTxHeld(ctx, tx, step.Hold(), latencyEvent(c.Hold.Operation.String()))
			return c.Hold.Operation.String(), err
		})
		id = done.StableID
		return err
	})
	return id, err
}
