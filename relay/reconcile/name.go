package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

func columns(list []place) (lanes []int16, seqs, streams []int64) {
	for _, p := range list {
		lanes, seqs, streams = append(lanes, p.lane), append(seqs, p.seq), append(streams, int64(p.stream))
	}
	return lanes, seqs, streams
}

// name gives the examples their ids: those of the log from the log, the others from the stream.
func (r *run) name(ctx context.Context) error {
	var list []place
	var at []int
	for i, e := range r.report.Examples {
		if e.Seq != 0 {
			list, at = append(list, place{lane: e.Lane, seq: e.Seq}), append(at, i)
		}
	}
	lanes, seqs, _ := columns(list)
	rows, err := r.tx.Query(ctx, r.sql["names"], lanes, seqs)
	if err != nil {
		return fmt.Errorf("read the ids of examples: %w", err)
	}
	var n int
	var source, id string
	_, err = pgx.ForEachRow(rows, []any{&n, &source, &id}, func() error {
		e := &r.report.Examples[at[n-1]]
		e.EventID, e.MessageID = id, wire.MsgID(source, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the ids of examples: %w", err)
	}
	stream, err := r.js.Stream(ctx, r.cfg.Relay.Stream)
	if err != nil {
		return err
	}
	for i := range r.report.Examples {
		e := &r.report.Examples[i]
		if e.Seq != 0 {
			continue
		}
		m, err := stream.GetMsg(ctx, e.StreamSeq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // dropped since
		}
		if err != nil {
			return fmt.Errorf("read the ids of examples: %w", err)
		}
		e.MessageID = m.Header.Get(nats.MsgIdHdr)
		if c, err := r.digests.ofMessage(m.Header, m.Data); err == nil {
			e.EventID = c.id
		}
	}
	return nil
}
