package relay

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// waiting are the events of a batch that will not be published by it: parallel slices for the
// settle. A code is nil for an event that waits behind another.
type waiting struct {
	seqs    []int64
	ids     []string
	keys    []*string
	codes   []*string
	digests [][]byte
}

func (r *Relay) waiting(b *batch) waiting {
	var w waiting
	for i := range b.events {
		e := &b.events[i]
		if !e.waits() {
			continue
		}
		var key, code *string
		var digest []byte
		if e.PartitionKey != "" {
			key = &e.PartitionKey
		}
		if e.refused != nil {
			text := string(e.refused.Code)
			code, digest = &text, e.refused.Digest()
		}
		w.seqs, w.ids, w.keys = append(w.seqs, e.seq), append(w.ids, e.ID), append(w.keys, key)
		w.codes, w.digests = append(w.codes, code), append(w.digests, digest)
	}
	return w
}

// park marks the events of a batch whose keys have events waiting. It asks the database only
// while the lane may have such events: only the lane's owner adds them.
func (r *Relay) park(ctx context.Context, l *lane, b *batch) error {
	if !l.mayBlock {
		return nil
	}
	var keys []string
	for i := range b.events {
		if e := &b.events[i]; e.PartitionKey != "" && !e.later {
			keys = append(keys, e.PartitionKey)
		}
	}
	ctx, cancel := r.soon(ctx)
	defer cancel()
	var blocked []string
	var some bool
	_, err := r.db.with(ctx, r.db.sql.session, r.db.sql.blocked, []any{r.cfg.Group, l.number, keys, r.cfg.DeadLetterBlocksKey},
		func(rows pgx.Rows) error { return rows.Scan(&blocked, &some) })
	if err != nil {
		return fmt.Errorf("look for blocked keys of lane %d: %w", l.number, err)
	}
	l.mayBlock = some
	isBlocked := make(map[string]bool, len(blocked))
	for _, key := range blocked {
		isBlocked[key] = true
	}
	for i := range b.events {
		if e := &b.events[i]; e.PartitionKey != "" && isBlocked[e.PartitionKey] {
			e.parked = true
		}
	}
	return nil
}

// refusals notes what a settled batch left to wait.
func (r *Relay) refusals(l *lane, b *batch) {
	refused, parked := 0, 0
	for i := range b.events {
		switch e := &b.events[i]; {
		case e.refused != nil:
			refused++
			r.log.Warn("the broker refused an event: it will be tried again", "lane", l.number,
				"event_id", e.ID, "type", e.Type, "reason", e.refused.Code)
		case e.parked:
			parked++
		}
	}
	if refused+parked > 0 {
		l.mayBlock = true
		r.metrics.waiting(l.ctx, refused, parked)
	}
}
