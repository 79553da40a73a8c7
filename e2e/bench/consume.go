package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

const (
	consumeWorkers = 8  // the default of a consumer, and as many for the bare one
	consumeBatch   = 50 // events to a transaction
	effectTable    = `CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		fact_id bigint UNIQUE REFERENCES outbox.consumer_fact (id), event_id text NOT NULL)`
)

// consumer is a way to consume.
type consumer struct {
	name string
	run  func(context.Context, *rig, *pgxpool.Pool) error
	rows string // what is there once for each event
}

// measureConsume measures consumers: a bare one, which inserts a row for each message in a transaction of
// its own and acknowledges it, and ours, which claims the fact, proves the effect and keeps an inbox, with one
// event to a transaction and with several; with an effect that is empty, so that the fact is the row, and with one
// of a row of its own.
func measureConsume(ctx context.Context, r *rig) error {
	ways := []consumer{
		{"consume_bare", bareConsumer, "entry"},
		{"consume", factConsumer(1, false), "outbox.consumer_fact"}, {"consume_batch", factConsumer(consumeBatch, false), "outbox.consumer_fact"},
		{"consume_row", factConsumer(1, true), "entry"}, {"consume_row_batch", factConsumer(consumeBatch, true), "entry"},
	}
	rates, ratios := make(figures, len(ways)), make(figures, len(ways)-1)
	for i, way := range ways {
		rates[i] = &figure.Figure{Name: way.name + "_rate", Unit: "events/s"}
		if i > 0 {
			ratios[i-1] = &figure.Figure{Name: way.name + "_ratio", Unit: "ratio"}
		}
	}
	events := r.scaled(20_000)
	for i := range r.runs {
		bare := 0.0
		for w, way := range ways {
			progress("run %d of %d: %s", i+1, r.runs, way.name)
			took, err := r.consume(ctx, events, way)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			rate := float64(events) / took.Seconds()
			rates[w].Add(rate)
			if w == 0 {
				bare = rate
			} else {
				ratios[w-1].Add(rate / bare)
			}
		}
	}
	rates.print()
	ratios.print()
	return nil
}

// consume fills a stream and returns how long a consumer takes until all is acknowledged.
func (r *rig) consume(ctx context.Context, events int, way consumer) (time.Duration, error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, err
	}
	if err := r.fill(ctx, events); err != nil {
		return 0, err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return 0, err
	}
	defer drop()
	if _, err := pool.Exec(ctx, effectTable); err != nil {
		return 0, err
	}
	cfg := pool.Config()
	cfg.MaxConns = consumeWorkers + 2
	own, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer own.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	start := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- way.run(running, r, own) }()
	if err := r.untilAcknowledged(ctx, events, ended); err != nil {
		return 0, err
	}
	took := time.Since(start)
	stop()
	if err := <-ended; err != nil {
		return 0, err
	}
	return took, wantRows(ctx, pool, way.rows, events)
}

// fill publishes events as a relay does.
func (r *rig) fill(ctx context.Context, n int) error {
	enc, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		return err
	}
	for i := range n {
		id := fmt.Sprint("event-", i)
		msg, err := enc.Encode(&outbox.Record{ID: id, Source: "/bench", Type: "bench.happened", PartitionKey: id,
			DataContentType: "application/octet-stream", Data: make([]byte, r.size)})
		if err != nil {
			return err
		}
		if _, err := r.js.PublishMsgAsync(msg); err != nil {
			return err
		}
	}
	select {
	case <-r.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// untilAcknowledged waits until the consumer of the stream has nothing left.
func (r *rig) untilAcknowledged(ctx context.Context, events int, ended <-chan error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("it ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if c, err := r.js.Consumer(ctx, r.stream, "bench"); err == nil && c.CachedInfo().AckFloor.Stream == uint64(events) {
			return nil
		}
	}
}

func wantRows(ctx context.Context, pool *pgxpool.Pool, table string, events int) error {
	var rows, distinct int
	if err := pool.QueryRow(ctx, "SELECT count(*), count(DISTINCT event_id) FROM "+table).Scan(&rows, &distinct); err != nil {
		return err
	}
	if rows != events || distinct != events {
		return fmt.Errorf("%d effects of %d events, want one of each of %d", rows, distinct, events)
	}
	return nil
}

// bareConsumer is what a service writes that trusts the broker to deliver once.
func bareConsumer(ctx context.Context, r *rig, pool *pgxpool.Pool) error {
	c, err := r.js.CreateConsumer(ctx, r.stream, jetstream.ConsumerConfig{Durable: "bench", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1000})
	if err != nil {
		return err
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(500))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	var workers errgroup.Group
	for range consumeWorkers {
		workers.Go(func() error {
			for {
				m, err := messages.Next()
				if err != nil {
					return nil // it is stopped
				}
				err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO entry (event_id) VALUES ($1)", m.Headers().Get("ce-id"))
					return err
				})
				if err == nil {
					err = m.Ack()
				}
				if err != nil {
					return err
				}
			}
		})
	}
	return workers.Wait()
}

// entryFact is the mapper.
func entryFact(e event.Event) (facts.Fact, error) {
	key, err := facts.NewKey(facts.ID("thing", strings.TrimPrefix(e.ID(), "event-")))
	return facts.Fact{Source: "bench", Account: "bench", Type: "entry", Key: key}, err
}

// handler claims, and writes a row unless the effect is empty.
func handler(row bool) consumers.Handler {
	return func(ctx context.Context, tx *facts.Tx, e event.Event) error {
		fact, err := entryFact(e)
		if err != nil {
			return err
		}
		claimed, err := facts.Claim(ctx, tx, fact)
		if err != nil || claimed.Outcome != facts.Applied || !row {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO entry (fact_id, event_id) VALUES ($1, $2)", claimed.ID, e.ID())
		return err
	}
}

// batchHandler does so for many.
func batchHandler(row bool) consumers.BatchHandler {
	return func(ctx context.Context, batch []consumers.Delivered) error {
		tellings := make([]facts.Telling, len(batch))
		for i, d := range batch {
			fact, err := entryFact(d.Event)
			if err != nil {
				return err
			}
			tellings[i] = facts.Telling{Tx: d.Tx, Fact: fact}
		}
		claims, err := facts.ClaimAll(ctx, tellings)
		if err != nil || !row {
			return err
		}
		var ids []int64
		var events []string
		for i, c := range claims {
			if c.Outcome == facts.Applied {
				ids, events = append(ids, c.ID), append(events, batch[i].Event.ID())
			}
		}
		_, err = batch[0].Tx.Exec(ctx, "INSERT INTO entry (fact_id, event_id) SELECT * FROM unnest($1::bigint[], $2::text[])", ids, events)
		return err
	}
}

// factConsumer is ours.
func factConsumer(batch int, row bool) func(context.Context, *rig, *pgxpool.Pool) error {
	effect := consumers.Effect{Table: "outbox.consumer_fact", Column: "id"} // of an empty one the fact is the proof
	if row {
		effect = consumers.Effect{Table: "entry"}
	}
	return func(ctx context.Context, r *rig, pool *pgxpool.Pool) error {
		c, err := consumers.New(pool, r.nc, handler(row), consumers.Config{
			Name: "bench", Stream: r.stream, Concurrency: consumeWorkers, Batch: batch, Together: batchHandler(row),
			Effects: map[string]consumers.Effect{"entry": effect},
			Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			return err
		}
		return c.Run(ctx)
	}
}
