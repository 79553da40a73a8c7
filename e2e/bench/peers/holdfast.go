package main

import (
	"context"
	"log/slog"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// holdfast is the relay with its defaults, but for the publisher.
type holdfast struct{ publisher relay.PublisherKind }

func (holdfast) install(ctx context.Context, pool *pgxpool.Pool) error {
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		return gen.Install(ctx, c.Conn(), canonical.DefaultParams(), canonical.Outbox, canonical.Hold, canonical.Relay)
	})
}

func (holdfast) stage(ctx context.Context, tx pgx.Tx, events []item) error {
	batch := make([]event.Event, len(events))
	for i, it := range events {
		e := event.New()
		e.SetID(it.id)
		e.SetSource("/bench")
		e.SetType("bench.happened")
		e.SetExtension("partitionkey", it.key)
		if err := e.SetData("application/json", it.data); err != nil {
			return err
		}
		batch[i] = e
	}
	_, err := outbox.PublishTx(ctx, tx, batch...)
	return err
}

func (h holdfast) start(ctx context.Context, r *rig, pool *pgxpool.Pool) (func() error, error) {
	cfg, err := relay.PoolConfig(pool.Config().ConnString(), 8)
	if err != nil {
		return nil, err
	}
	own, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	re, err := relay.New(own, r.nc, relay.Config{Stream: r.stream, Publisher: h.publisher, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		own.Close()
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- re.Run(running) }()
	return func() error {
		stop()
		defer own.Close()
		return <-ended
	}, nil
}

func (holdfast) left(ctx context.Context, pool *pgxpool.Pool, n int) (int, error) {
	var settled int
	err := pool.QueryRow(ctx, "SELECT coalesce(sum(events), 0) FROM outbox.outbox_batch").Scan(&settled)
	return n - settled, err
}
