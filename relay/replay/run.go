package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/internal/records"
)

const (
	chunk      = 500                    // events that are published together, without a rate
	perSecond  = 5                      // chunks in a second, with one
	tries      = 5                      // of a chunk
	firstPause = 200 * time.Millisecond // before it is tried again; it doubles
)

// Result is what a replay did.
type Result struct {
	Epoch     int64
	Published int64 // acknowledged
	Refused   int64 // left out: the broker would not have them, or the stream does not have their subjects
	// Last is the number in the log of the last event that was published or refused, for
	// Config.After.
	Last int64
}

// replay is one run. It belongs to one goroutine.
type replay struct {
	cfg    Config
	pool   *pgxpool.Pool
	pub    *relay.Publisher
	next   string
	plan   *Plan
	result Result
	start  time.Time
}

// Run publishes the events that [MakePlan] counts. It ends with ctx, between chunks. The result
// is right beside an error, too: give its Epoch and Last to another run to continue.
func Run(ctx context.Context, pool *pgxpool.Pool, nc *nats.Conn, cfg Config) (Result, error) {
	plan, cfg, err := prepare(ctx, pool, cfg)
	result := Result{Epoch: cfg.Epoch, Last: cfg.After}
	if err != nil {
		return result, err
	}
	pub, err := relay.NewPublisher(nc, cfg.Relay)
	if err != nil {
		return result, err
	}
	r := &replay{
		cfg: cfg, pool: pool, pub: pub.WithIDSuffix(".r" + strconv.FormatInt(cfg.Epoch, 10)), next: statements(cfg.Relay.Schema)["next"],
		plan: plan, result: result, start: time.Now(),
	}
	if err := r.run(ctx); err != nil {
		return r.result, fmt.Errorf("replay: %w", err)
	}
	return r.result, nil
}

func (r *replay) run(ctx context.Context) error {
	for {
		places, err := r.places(ctx)
		if err != nil || len(places) == 0 {
			return err
		}
		err = records.Each(ctx, r.pool, r.cfg.Relay.Schema, places, func(list []records.Record) error {
			if err := r.publish(ctx, list); err != nil {
				return err
			}
			r.result.Last = list[len(list)-1].Seq
			r.cfg.Progress(r.result)
			return r.pace(ctx)
		})
		if err != nil {
			return err
		}
		r.result.Last = places[len(places)-1].Seq // also when the log has lost it since
	}
}

// places returns where the next events lie, none at the end.
func (r *replay) places(ctx context.Context) ([]records.Place, error) {
	n := int64(chunk)
	if r.cfg.Rate > 0 {
		n = max(1, min(n, int64(r.cfg.Rate/perSecond)))
	}
	if r.cfg.Limit > 0 {
		if n = min(n, r.cfg.Limit-r.result.Published-r.result.Refused); n <= 0 {
			return nil, nil
		}
	}
	rows, err := r.pool.Query(ctx, r.next, r.plan.Group, r.plan.window.First, r.plan.window.End, r.result.Last, null(r.cfg.Type), null(r.cfg.Key), n)
	if err != nil {
		return nil, fmt.Errorf("find events: %w", err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[records.Place])
	if err != nil {
		return nil, fmt.Errorf("find events: %w", err)
	}
	return places, nil
}

// publish publishes a chunk. When one of its events cannot be sent, they go out one by one.
func (r *replay) publish(ctx context.Context, list []records.Record) error {
	events := make([]outbox.Record, len(list))
	for i := range list {
		events[i] = list[i].Record
	}
	err := r.try(ctx, events)
	if !aboutOne(err) {
		if err == nil {
			r.result.Published += int64(len(events))
		}
		return err
	}
	before, strays := r.result, 0
	var stray *relay.SubjectError
	for i := range events {
		switch err := r.try(ctx, events[i:i+1]); {
		case errors.As(err, &stray):
			strays++
			r.result.Refused++
		case aboutOne(err):
			r.result.Refused++
		case err != nil:
			return err
		default:
			r.result.Published++
		}
		r.result.Last = list[i].Seq
	}
	if strays == len(events) && r.result.Published == 0 && !r.cfg.LeaveStrays {
		r.result = before // not these events: the stream is for something else
		return fmt.Errorf("publish: %w", stray)
	}
	return nil
}

// try repeats a publication that failed for another reason than its events. Their ids are the same.
func (r *replay) try(ctx context.Context, events []outbox.Record) error {
	pause := firstPause
	for n := 1; ; n++ {
		// What is in flight is waited for, also when ctx ends: it takes an ack timeout at most.
		err := r.pub.Publish(context.WithoutCancel(ctx), events)
		if err == nil || aboutOne(err) || n == tries {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// aboutOne reports whether an error is about one event, so that waiting mends nothing and the
// others can go on.
func aboutOne(err error) bool {
	var refused *relay.RefusedError
	var subject *relay.SubjectError
	return errors.As(err, &refused) || errors.As(err, &subject)
}

// pace waits until the events that are out have had their time.
func (r *replay) pace(ctx context.Context) error {
	if r.cfg.Rate == 0 {
		return ctx.Err()
	}
	due := time.Duration(float64(r.result.Published+r.result.Refused) / r.cfg.Rate * float64(time.Second))
	return wait(ctx, due-time.Since(r.start))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
