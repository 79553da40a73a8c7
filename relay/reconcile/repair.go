package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/internal/records"
)

// republishLimit bounds the publication of one chunk and the look at what became of it.
const republishLimit = time.Minute

// repair publishes missing events again, in the order of the log.
func (r *run) repair(ctx context.Context, gone []event) error {
	places := make([]records.Place, len(gone))
	for i, e := range gone {
		places[i] = records.Place{Lane: e.lane, Seq: e.seq}
	}
	var seen int64
	err := records.Each(ctx, r.tx, r.cfg.Relay.Schema, places, func(list []records.Record) error {
		seen += int64(len(list))
		return r.republish(ctx, list)
	})
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	r.report.Repair.Gone += int64(len(places)) - seen
	return nil
}

// republish publishes some events, looks for them in the stream, and records those that are there. It
// goes on to its end when ctx ends.
func (r *run) republish(ctx context.Context, list []records.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), republishLimit)
	defer cancel()
	stream, err := r.js.Stream(ctx, r.cfg.Relay.Stream)
	if err != nil {
		return err
	}
	before := stream.CachedInfo().State.LastSeq
	events := make([]outbox.Record, len(list))
	for i := range list {
		events[i] = list[i].Record
	}
	refused := r.report.Repair.Refused
	failed := r.publish(ctx, events)
	// Also after a failure: some may be stored.
	stored, err := r.storedAfter(ctx, before)
	if err != nil {
		return errors.Join(failed, err)
	}
	var done []place
	for i := range list {
		if seq := stored[wire.MsgID(list[i].Source, list[i].ID)]; seq != 0 {
			done = append(done, place{list[i].Lane, list[i].Seq, seq})
		}
	}
	r.report.Repair.Published += int64(len(done))
	if failed == nil {
		r.report.Repair.Remembered += int64(len(list)-len(done)) - (r.report.Repair.Refused - refused)
	}
	lanes, seqs, streams := columns(done)
	if _, err := r.pool.Exec(ctx, r.sql["record"], r.cfg.Relay.Group, r.cfg.Relay.Stream, lanes, seqs, streams); err != nil {
		return errors.Join(failed, fmt.Errorf("record what was published: %w", err))
	}
	return failed
}

// publish publishes events in their order. When the broker refuses one, they go out one by one, and
// the others are not held up.
func (r *run) publish(ctx context.Context, events []outbox.Record) error {
	err := r.pub.Publish(ctx, events)
	var refused *relay.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	for i := range events {
		if err := r.pub.Publish(ctx, events[i:i+1]); errors.As(err, &refused) {
			r.report.Repair.Refused++
		} else if err != nil {
			return err
		}
	}
	return nil
}

// storedAfter returns where the stream has ids after a sequence.
func (r *run) storedAfter(ctx context.Context, before uint64) (map[string]uint64, error) {
	stream, err := r.js.Stream(ctx, r.cfg.Relay.Stream)
	if err != nil {
		return nil, err
	}
	stored := map[string]uint64{}
	err = walk.Stream(ctx, r.js, stream.CachedInfo(), walk.Config{From: before + 1, HeadersOnly: true}, func(m walk.Message) error {
		if id := m.Header.Get(nats.MsgIdHdr); stored[id] == 0 {
			stored[id] = m.Sequence
		}
		return nil
	})
	return stored, err
}
