package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
	"github.com/holdfast-dev/holdfast/outbox"
)

const (
	latencyRate = 200 // events a second
	wakeSubject = "holdfast.wake.bench"
)

// measureLatency measures the time from the end of a commit to a consumer of the stream, at 200
// events a second: polling, with a wake-up, and, as the floor of the machine, a bare
// commit followed by a bare publication of the producer's own.
func measureLatency(ctx context.Context, r *rig) error {
	ways := []struct {
		prefix string
		run    func(context.Context, *rig, *latencyRun) error
	}{{"", withRelay(false)}, {"wake_", withRelay(true)}, {"floor_", bare}}
	list := make(figures, 0, 2*len(ways))
	for _, way := range ways {
		list = append(list, &figure.Figure{Name: way.prefix + "latency_p50_ms", Unit: "ms"}, &figure.Figure{Name: way.prefix + "latency_p99_ms", Unit: "ms"})
	}
	for i := range r.runs {
		for w, way := range ways {
			progress("run %d of %d: latency %s", i+1, r.runs, way.prefix)
			l := &latencyRun{events: r.scaled(3000), committed: map[string]time.Time{}}
			if err := way.run(ctx, r, l); err != nil {
				return err
			}
			list[2*w].Add(quantile(l.millis, 0.50))
			list[2*w+1].Add(quantile(l.millis, 0.99))
		}
	}
	list.print()
	return nil
}

// latencyRun pairs commits with arrivals.
type latencyRun struct {
	events int

	mu        sync.Mutex
	committed map[string]time.Time
	arrived   map[string]time.Time
	millis    []float64
}

// withRelay runs a relay in this process.
func withRelay(wake bool) func(context.Context, *rig, *latencyRun) error {
	return func(ctx context.Context, r *rig, l *latencyRun) error {
		if err := r.freshStream(ctx); err != nil {
			return err
		}
		pool, drop, err := r.freshDatabase(ctx)
		if err != nil {
			return err
		}
		defer drop()
		cfg := r.relayConfig()
		if wake {
			cfg.WakeSubject = wakeSubject
		}
		end, err := r.startRelay(ctx, pool, cfg)
		if err != nil {
			return err
		}
		stage := func(ctx context.Context, id string) (time.Time, error) {
			err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				_, err := outbox.PublishTx(ctx, tx, latencyEvent(id))
				return err
			})
			at := time.Now()
			if err == nil && wake {
				err = outbox.Wake(r.nc, wakeSubject)
			}
			return at, err
		}
		err = l.measure(ctx, r, stage)
		if endErr := end(); err == nil {
			err = endErr
		}
		return err
	}
}

// bare commits a row like an event's and publishes the event itself.
func bare(ctx context.Context, r *rig, l *latencyRun) error {
	if err := r.freshStream(ctx); err != nil {
		return err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return err
	}
	defer drop()
	if _, err := pool.Exec(ctx, "CREATE TABLE bare (id text PRIMARY KEY, data bytea NOT NULL)"); err != nil {
		return err
	}
	data := latencyEvent("").Data()
	return l.measure(ctx, r, func(ctx context.Context, id string) (time.Time, error) {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO bare (id, data) VALUES ($1, $2)", id, data)
			return err
		})
		at := time.Now()
		if err == nil {
			_, err = r.js.Publish(ctx, "events.bench.happened", data, jetstream.WithMsgID(id))
		}
		return at, err
	})
}

func latencyEvent(id string) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/bench")
	e.SetType("bench.happened")
	e.SetExtension("partitionkey", id)
	_ = e.SetData("application/octet-stream", make([]byte, 512)) // bytes always fit
	return e
}

// measure stages events at a steady rate, and returns when all have arrived.
func (l *latencyRun) measure(ctx context.Context, r *rig, stage func(context.Context, string) (time.Time, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.events)*time.Second/latencyRate+time.Minute)
	defer cancel()
	l.arrived = make(map[string]time.Time, l.events)
	all := make(chan struct{})
	consumer, err := r.js.OrderedConsumer(ctx, r.stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		at := time.Now()
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, again := l.arrived[idOf(m)]; again {
			return
		}
		l.arrived[idOf(m)] = at
		if len(l.arrived) == l.events {
			close(all)
		}
	})
	if err != nil {
		return err
	}
	defer reading.Stop()
	if err := l.stageAll(ctx, stage); err != nil {
		return err
	}
	select {
	case <-all:
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("%d of %d events arrived: %w", len(l.arrived), l.events, ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range l.committed {
		l.millis = append(l.millis, float64(l.arrived[id].Sub(at).Microseconds())/1000)
	}
	return nil
}

func (l *latencyRun) stageAll(ctx context.Context, stage func(context.Context, string) (time.Time, error)) error {
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range l.events {
		timer.Reset(time.Until(start.Add(time.Duration(i) * time.Second / latencyRate)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		id := uuid.NewString()
		at, err := stage(ctx, id)
		if err != nil {
			return err
		}
		if i >= l.events/20 { // before that, connections and plans are new
			l.committed[id] = at
		}
	}
	return nil
}

func idOf(m jetstream.Msg) string {
	if id := m.Headers().Get("ce-id"); id != "" {
		return id
	}
	return m.Headers().Get(nats.MsgIdHdr)
}
