package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverPeer is a River client whose worker publishes.
type riverPeer struct{}

// publication is an event as a River job.
type publication struct {
	ID   string `json:"id"`
	Data []byte `json:"data"`
}

// Kind implements river.JobArgs.
func (publication) Kind() string { return "publish" }

func (riverPeer) install(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (riverPeer) stage(ctx context.Context, tx pgx.Tx, events []item) error {
	// A client without queues inserts only.
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	jobs := make([]river.InsertManyParams, len(events))
	for i, it := range events {
		jobs[i] = river.InsertManyParams{Args: publication{ID: it.id, Data: it.data}}
	}
	_, err = client.InsertManyFastTx(ctx, tx, jobs)
	return err
}

func (riverPeer) start(ctx context.Context, r *rig, pool *pgxpool.Pool) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[publication]) error {
		_, err := r.js.PublishMsg(ctx, natsMessage(job.Args.ID, job.Args.Data))
		return err
	}))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 500}},
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error { return client.Stop(ctx) }, nil
}

func (riverPeer) left(ctx context.Context, pool *pgxpool.Pool, _ int) (n int, err error) {
	err = pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&n)
	return n, err
}
