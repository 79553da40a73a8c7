package relay

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// settle moves the cursor of a lane past a batch, each event of which is stored or goes, in the
// same statement, to where refused events and those behind them wait. It returns false
// when the lane is not this pod's any more.
func (r *Relay) settle(ctx context.Context, l *lane, b *batch) (owned bool, err error) {
	var target *string
	var pos *int64
	if b.after.target != "" {
		target, pos = &b.after.target, &b.after.pos
	}
	var seqFirst, seqLast int64
	streamFirst, streamLast := b.streamRange()
	if n := len(b.events); n > 0 {
		seqFirst, seqLast = b.events[0].seq, b.events[n-1].seq
	}
	known := r.known.last()
	if l.behind != nil && b.after.target != "" {
		known = l.behind.from // what a previous owner published may be on a later page
	}
	w := r.waiting(b)
	var settled int
	ctx, cancel := r.soon(ctx)
	defer cancel()
	_, err = r.db.with(ctx, r.db.sql.sessionSettle, r.db.sql.settle, []any{
		r.cfg.Group, l.number, l.token, b.after.drained, target, pos, int64(known),
		len(b.events) - len(w.seqs), seqFirst, seqLast, r.cfg.Stream, int64(streamFirst), int64(streamLast), l.incarnation,
		w.seqs, w.ids, w.keys, w.codes, w.digests, r.cfg.Retry.Initial,
	}, func(rows pgx.Rows) error { return rows.Scan(&settled) })
	if err != nil {
		return false, fmt.Errorf("settle lane %d: %w", l.number, err)
	}
	return settled == 1, nil
}
