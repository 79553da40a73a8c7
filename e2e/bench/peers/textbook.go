package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// textbook is the table with a loop of SELECT .. FOR UPDATE SKIP LOCKED, publish and DELETE.
type textbook struct {
	workers, limit int
	// inFlight publishes all events of a transaction at once, else one after the other.
	inFlight bool
}

func (textbook) install(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `CREATE TABLE outbox (
		seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, key text NOT NULL,
		data bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`)
	return err
}

func (textbook) stage(ctx context.Context, tx pgx.Tx, events []item) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"outbox"}, []string{"id", "key", "data"},
		pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
			return []any{events[i].id, events[i].key, events[i].data}, nil
		}))
	return err
}

func (t textbook) start(ctx context.Context, r *rig, pool *pgxpool.Pool) (func() error, error) {
	running, stop := context.WithCancel(ctx)
	group, working := errgroup.WithContext(running)
	for range t.workers {
		group.Go(func() error { return t.work(working, r.js, pool) })
	}
	return func() error {
		stop()
		if err := group.Wait(); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

func (t textbook) work(ctx context.Context, js jetstream.JetStream, pool *pgxpool.Pool) error {
	for {
		n, err := t.batch(ctx, js, pool)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// batch moves at most limit events in one transaction and returns their number.
func (t textbook) batch(ctx context.Context, js jetstream.JetStream, pool *pgxpool.Pool) (n int, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT seq, id, data FROM outbox ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED", t.limit)
		if err != nil {
			return err
		}
		var done []int64
		var list []*nats.Msg
		var seq int64
		var id string
		var data []byte
		_, err = pgx.ForEachRow(rows, []any{&seq, &id, &data}, func() error {
			done = append(done, seq)
			list = append(list, natsMessage(id, data))
			data = nil // it is the message's now
			return nil
		})
		if err != nil {
			return err
		}
		n = len(done)
		if n == 0 {
			return nil
		}
		if err := t.publish(ctx, js, list); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM outbox WHERE seq = ANY ($1)", done)
		return err
	})
	return n, err
}

func (t textbook) publish(ctx context.Context, js jetstream.JetStream, list []*nats.Msg) error {
	if !t.inFlight {
		for _, m := range list {
			if _, err := js.PublishMsg(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}
	futures := make([]jetstream.PubAckFuture, len(list))
	for i, m := range list {
		var err error
		if futures[i], err = js.PublishMsgAsync(m); err != nil {
			return err
		}
	}
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (textbook) left(ctx context.Context, pool *pgxpool.Pool, _ int) (n int, err error) {
	err = pool.QueryRow(ctx, "SELECT count(*) FROM outbox").Scan(&n)
	return n, err
}
