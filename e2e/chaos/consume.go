package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// consumed is the consumers' own database.
const consumed = "consumed"

var (
	//go:embed sql/consumed.sql
	consumedSQL string
	//go:embed sql/effects.sql
	effectsSQL string
)

// makeConsumed makes the database of the consumers.
func (s *servers) makeConsumed(ctx context.Context) (err error) {
	if err := s.pg.CreateDatabase(ctx, consumed, ""); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.pg.URL(consumed))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if err := gen.Install(ctx, conn, canonical.DefaultParams(), canonical.Consumer); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, consumedSQL); err != nil {
		return fmt.Errorf("make the table of effects: %w", err)
	}
	return nil
}

// startEaters starts the consumers.
func (t *trial) startEaters() error {
	for i := range eaters {
		e, err := newEater(i, t.servers)
		t.eaters = append(t.eaters, e)
		if err == nil {
			err = e.start()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// consumerFault breaks one consumer, or its way to the database.
func (t *trial) consumerFault(ctx context.Context, step Step) {
	e := t.eaters[step.Target%eaters]
	switch step.Kind {
	case consumerCut:
		if e.pg.CutAll() > 0 {
			t.tookEffect(step.Kind)
		}
		return
	case consumerCommitCut:
		step.For = max(step.For, lease)
		t.during(ctx, step, 1, e.pg.Add(fault.PostgresRule{Match: fault.Commits, After: step.N, Times: 1, Do: fault.CutAfter()}))
		return
	}
	if !lockFor(ctx, &e.busy) {
		return
	}
	defer e.busy.Unlock()
	t.tookEffect(step.Kind)
	switch step.Kind {
	case consumerPause:
		e.try("pause", e.process().Pause())
		sleep(ctx, step.For)
		e.try("resume", e.process().Resume())
		return
	case consumerStop:
		e.stop()
	default:
		e.kill()
	}
	sleep(ctx, step.For)
	e.try("start", e.start())
}

// awaitConsumed waits until the consumers have nothing more to get and nothing to answer, and ends them.
// After a rollback the broker has given numbers twice, and may know of acknowledgements that were about
// other messages. So the consumer on the stream is made anew, and everything is delivered again. What is
// not consumed in time is left to the judge.
func (t *trial) awaitConsumed(ctx context.Context) error {
	js, err := t.servers.jetStream()
	if err != nil {
		return err
	}
	defer js.Conn().Close()
	if len(t.record.Removed()) > 0 {
		if err := t.until(ctx, restartLimit, "the consumer is deleted", func(ctx context.Context) (bool, error) {
			err := js.DeleteConsumer(ctx, streamName, consumerName)
			return err == nil || errors.Is(err, jetstream.ErrConsumerNotFound), err
		}); err != nil {
			return err
		}
	}
	least, progress := ^uint64(0), time.Now()
	err = t.until(ctx, patience*t.within, "everything is consumed", func(ctx context.Context) (bool, error) {
		c, err := js.Consumer(ctx, streamName, consumerName)
		if err != nil {
			return time.Since(progress) > t.within, nil // it is made by whoever needs it
		}
		open := c.CachedInfo().NumPending + uint64(c.CachedInfo().NumAckPending)
		if open < least {
			least, progress = open, time.Now()
		}
		return open == 0 || time.Since(progress) > t.within, nil
	})
	if err != nil && !errors.Is(err, errNotInTime) {
		return err
	}
	for _, e := range t.eaters {
		e.stop()
	}
	return nil
}

// readEffects reads what the consumers have made of the events.
func (t *trial) readEffects(ctx context.Context, h *history.History) error {
	conn, err := pgx.Connect(ctx, t.servers.pg.URL(consumed))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // it only read
	rows, err := conn.Query(ctx, effectsSQL)
	if err != nil {
		return fmt.Errorf("read the effects: %w", err)
	}
	h.Consumed = true
	var e history.Effect
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&e.Source, &e.ID, &e.Rows, &digest}, func() error {
		e.Digest = history.Digest{}
		copy(e.Digest[:], digest)
		h.Effects = append(h.Effects, e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the effects: %w", err)
	}
	return nil
}
