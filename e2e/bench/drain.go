package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay"
)

// drainFigures are the figures of one publisher.
type drainFigures struct {
	publisher                          relay.PublisherKind
	alone, drain, ratio, wal, oldRatio *figure.Figure
}

func newDrainFigures(kind relay.PublisherKind) *drainFigures {
	name := func(what, unit string) *figure.Figure {
		return &figure.Figure{Name: what + "_" + kind.String(), Unit: unit}
	}
	return &drainFigures{
		publisher: kind,
		alone:     name("jetstream_rate", "events/s"), drain: name("drain_rate", "events/s"), ratio: name("drain_ratio", "ratio"),
		wal: name("wal_bytes_per_event", "bytes"), oldRatio: name("pinned_ratio", "ratio"),
	}
}

// measureDrain compares, for each publisher, the drain with the broker alone, and with itself
// while an old snapshot is held open.
func measureDrain(ctx context.Context, r *rig) error {
	defer func() { r.publisher = "" }() // what is measured next has the relay's default
	all := []*drainFigures{newDrainFigures(relay.PublisherFast), newDrainFigures(relay.PublisherAsync)}
	for i := range r.runs {
		for _, f := range all {
			progress("run %d of %d with %s", i+1, r.runs, f.publisher)
			if err := f.measure(ctx, r); err != nil {
				return err
			}
		}
	}
	fastGain := &figure.Figure{Name: "fast_gain", Unit: "ratio"}
	for i := range r.runs {
		fastGain.Add(all[0].drain.Values[i] / all[1].drain.Values[i])
	}
	for _, f := range all {
		for _, g := range []*figure.Figure{f.alone, f.drain, f.ratio, f.wal, f.oldRatio} {
			g.Print(os.Stdout)
			if f.publisher == relay.PublisherFast { // what a relay takes by itself, under the name without it too
				plain := *g
				plain.Name = strings.TrimSuffix(g.Name, "_"+f.publisher.String())
				plain.Print(os.Stdout)
			}
		}
	}
	fastGain.Print(os.Stdout)
	return nil
}

// measure makes one run of each kind.
func (f *drainFigures) measure(ctx context.Context, r *rig) error {
	r.publisher = f.publisher
	alone, err := r.publishOnly(ctx)
	if err != nil {
		return err
	}
	plain, err := r.drainRun(ctx, false)
	if err != nil {
		return err
	}
	pinned, err := r.drainRun(ctx, true)
	if err != nil {
		return err
	}
	f.alone.Add(alone)
	f.drain.Add(plain.rate)
	f.ratio.Add(plain.rate / alone)
	f.wal.Add(plain.walPerEvent)
	f.oldRatio.Add(pinned.rate / plain.rate)
	return nil
}

// publishOnly publishes the same messages with the relay's publisher, with as many batches at
// once as a relay has workers, and returns the rate.
func (r *rig) publishOnly(ctx context.Context) (float64, error) {
	if err := r.freshStream(ctx); err != nil {
		return 0, err
	}
	cfg := r.relayConfig()
	cfg.BatchSize = 1000
	pub, err := relay.NewPublisher(r.nc, cfg)
	if err == nil && r.publisher == relay.PublisherFast {
		pub, err = pub.Fast(ctx)
	}
	if err != nil {
		return 0, err
	}
	batches := make([][]outbox.Record, 0, r.events/cfg.BatchSize+1)
	for from := 0; from < r.events; from += cfg.BatchSize {
		batches = append(batches, r.records(from, min(cfg.BatchSize, r.events-from)))
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, b := range batches {
		group.Go(func() error { return pub.Publish(ctx, b) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return float64(r.events) / time.Since(start).Seconds(), nil
}

// records makes events like those of load, in memory.
func (r *rig) records(from, n int) []outbox.Record {
	list := make([]outbox.Record, n)
	for i := range list {
		list[i] = outbox.Record{
			ID: uuid.NewString(), Source: "/bench", Type: "bench.happened", Time: time.Now().UTC(),
			DataContentType: "application/json", PartitionKey: fmt.Sprint("key-", (from+i)*7919%10000),
			Data: []byte(`"` + strings.Repeat("0123456789abcdef0123456789abcdef", r.size/32+1)[:r.size-2] + `"`),
		}
	}
	return list
}

// drained is what one drain run gave.
type drained struct{ rate, walPerEvent float64 }

// drainRun loads a fresh database and drains it, with or without an old snapshot held open.
func (r *rig) drainRun(ctx context.Context, pinned bool) (drained, error) {
	if err := r.freshStream(ctx); err != nil {
		return drained{}, err
	}
	pool, drop, err := r.freshDatabase(ctx)
	if err != nil {
		return drained{}, err
	}
	defer drop()
	if pinned {
		release, err := holdSnapshot(ctx, pool)
		if err != nil {
			return drained{}, err
		}
		defer release()
	}
	if err := r.load(ctx, pool, r.events); err != nil {
		return drained{}, err
	}
	before, err := walPosition(ctx, pool)
	if err != nil {
		return drained{}, err
	}
	stopProfile := r.startProfile()
	took, err := r.drain(ctx, pool, r.events)
	stopProfile()
	if err != nil {
		return drained{}, err
	}
	after, err := walPosition(ctx, pool)
	if err != nil {
		return drained{}, err
	}
	n := float64(r.events)
	return drained{rate: n / took.Seconds(), walPerEvent: (after - before) / n}, nil
}

// holdSnapshot opens a transaction whose snapshot is older than everything that follows.
func holdSnapshot(ctx context.Context, pool *pgxpool.Pool) (release func(), err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT count(*) FROM outbox.event_outbox")
	}
	if err != nil {
		conn.Release()
		return nil, err
	}
	return func() {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // it only read
		conn.Release()
	}, nil
}

func walPosition(ctx context.Context, pool *pgxpool.Pool) (bytes float64, err error) {
	err = pool.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8").Scan(&bytes)
	return bytes, err
}

var profileOnce sync.Once

// startProfile profiles the first drain run when a file was asked for.
func (r *rig) startProfile() (stop func()) {
	stop = func() {}
	if r.profile == "" {
		return stop
	}
	profileOnce.Do(func() {
		f, err := os.Create(r.profile)
		if err != nil {
			progress("no profile: %v", err)
			return
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			progress("no profile: %v", err)
			return
		}
		stop = func() {
			pprof.StopCPUProfile()
			_ = f.Close()
		}
	})
	return stop
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
