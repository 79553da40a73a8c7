package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"
)

const (
	gueWorkers = 32
	gueType    = "publish"
	idLength   = 36 // of a UUID in text
)

// guePeer is a pool of gue workers that publish.
type guePeer struct{}

// The table and its index are those of gue's migrations/schema.sql.
const gueSchema = `
CREATE TABLE gue_jobs (
  job_id text NOT NULL PRIMARY KEY, priority smallint NOT NULL, run_at timestamptz NOT NULL, job_type text NOT NULL,
  args bytea NOT NULL, error_count integer NOT NULL DEFAULT 0, last_error text, queue text NOT NULL,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL
);
CREATE INDEX idx_gue_jobs_selector ON gue_jobs (queue, run_at, priority);`

func (guePeer) install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, gueSchema)
	return err
}

func (guePeer) stage(ctx context.Context, tx pgx.Tx, events []item) error {
	client, err := gue.NewClient(pgxv5.NewConnPool(nil))
	if err != nil {
		return err
	}
	jobs := make([]*gue.Job, len(events))
	for i, it := range events {
		jobs[i] = &gue.Job{Type: gueType, Args: append([]byte(it.id), it.data...)}
	}
	return client.EnqueueBatchTx(ctx, jobs, pgxv5.NewTx(tx))
}

func (guePeer) start(ctx context.Context, r *rig, pool *pgxpool.Pool) (func() error, error) {
	client, err := gue.NewClient(pgxv5.NewConnPool(pool))
	if err != nil {
		return nil, err
	}
	work := gue.WorkMap{gueType: func(ctx context.Context, j *gue.Job) error {
		_, err := r.js.PublishMsg(ctx, natsMessage(string(j.Args[:idLength]), j.Args[idLength:]))
		return err
	}}
	workers, err := gue.NewWorkerPool(client, work, gueWorkers, gue.WithPoolPollInterval(50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- workers.Run(running) }()
	return func() error {
		stop()
		return <-ended
	}, nil
}

func (guePeer) left(ctx context.Context, pool *pgxpool.Pool, _ int) (n int, err error) {
	err = pool.QueryRow(ctx, "SELECT count(*) FROM gue_jobs").Scan(&n)
	return n, err
}
