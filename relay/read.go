package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// read returns the next batch of a lane, or nil when it has none. It changes nothing: the
// cursor moves when the batch is settled.
func (r *Relay) read(ctx context.Context, l *lane) (*batch, error) {
	share := r.byteShare()
	cur := l.cur
	if cur.target == "" {
		b, all, err := r.readNew(ctx, l, share)
		if err != nil || all {
			return b, err
		}
		if cur, err = r.beginPaging(ctx, l); err != nil {
			return nil, err
		}
	}
	return r.readPage(ctx, l, cur, share)
}

// rows runs a read for a lane. What another incarnation of the server answers is not to be
// used with the lane's cursor.
func (r *Relay) rows(ctx context.Context, l *lane, sql string, args []any, each func(pgx.Rows) error) error {
	incarnation, err := r.db.with(ctx, r.db.sql.session, sql, args, each)
	if err == nil && incarnation != l.incarnation {
		return errServerChanged
	}
	return err
}

// readNew reads the candidates of a lane if they fit into one batch; all says that they did.
func (r *Relay) readNew(ctx context.Context, l *lane, share int) (b *batch, all bool, err error) {
	ctx, cancel := r.soon(ctx)
	defer cancel()
	c := collector{limit: l.limit + 1, bytes: share}
	err = r.rows(ctx, l, r.db.sql.read, []any{l.number, l.cur.drained, c.limit}, c.row)
	l.shrink(&c) // also when the rows that did not fit took too long to come
	if errors.Is(err, context.DeadlineExceeded) {
		l.limit = max(1, l.limit/2) // fewer rows may come in time
	}
	if err != nil {
		return nil, false, fmt.Errorf("read lane %d: %w", l.number, err)
	}
	if c.cut || len(c.events) > l.limit {
		return nil, false, nil
	}
	l.grow(r.cfg.BatchSize)
	if len(c.events) == 0 {
		return nil, true, nil
	}
	b = &batch{events: c.events, after: cursor{drained: c.snapshot}}
	b.link()
	return b, true, nil
}

// beginPaging fixes the snapshot up to which a backlog will be paged, and where it begins.
func (r *Relay) beginPaging(ctx context.Context, l *lane) (cursor, error) {
	var target string
	var first *int64
	select {
	case r.paging <- struct{}{}:
		defer func() { <-r.paging }()
	case <-ctx.Done():
		return cursor{}, context.Cause(ctx)
	}
	err := r.rows(ctx, l, r.db.sql.backlog, []any{l.number, l.cur.drained}, func(rows pgx.Rows) error {
		return rows.Scan(&target, &first)
	})
	if err != nil {
		return cursor{}, fmt.Errorf("find the backlog of lane %d: %w", l.number, err)
	}
	cur := cursor{drained: l.cur.drained, target: target}
	if first != nil {
		cur.pos = *first - 1
	}
	return cur, nil
}

// readPage reads the next page of a backlog. A short page ends it, and then the batch may
// be empty: its settle moves the cursor all the same.
func (r *Relay) readPage(ctx context.Context, l *lane, cur cursor, share int) (*batch, error) {
	c := collector{limit: l.limit, bytes: share}
	err := r.rows(ctx, l, r.db.sql.page, []any{l.number, cur.drained, cur.target, cur.pos, c.limit}, c.row)
	l.shrink(&c) // also when the rows that did not fit took too long to come
	if errors.Is(err, context.DeadlineExceeded) {
		l.limit = max(1, l.limit/2) // fewer rows may come in time
	}
	if err != nil {
		return nil, fmt.Errorf("read lane %d after %d: %w", l.number, cur.pos, err)
	}
	b := &batch{events: c.events, after: cursor{drained: cur.target}}
	if c.cut || len(c.events) == c.limit {
		b.more = true
		b.after = cursor{drained: cur.drained, target: cur.target, pos: c.events[len(c.events)-1].seq}
	}
	if !c.cut {
		l.grow(r.cfg.BatchSize)
	}
	b.link()
	return b, nil
}

// byteShare is how many payload bytes one batch may have in memory: a lane has two, one that is
// published and one that is read.
func (r *Relay) byteShare() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cfg.BatchBytes / max(1, 2*len(r.lanes))
}

// shrink makes the next batches as small as what fitted this time, so that rows that do
// not fit are not fetched again and again.
func (l *lane) shrink(c *collector) {
	if c.cut {
		l.limit = max(1, len(c.events))
	}
}

func (l *lane) grow(limit int) { l.limit = min(limit, 2*l.limit) }

// collector gathers rows until there are enough of them, by number or by bytes.
type collector struct {
	limit, bytes int

	snapshot string
	events   []event
	size     int
	cut      bool // the bytes were used up before the rows
	// shared are values that most events of a batch have in common, once each.
	shared map[string]string
	// What a row gives before it is copied; valid until the next row.
	rawSnapshot, rawSource, rawType, rawContentType, rawSchema pgtype.DriverBytes
}

func (c *collector) row(rows pgx.Rows) error {
	if c.events == nil {
		c.events = make([]event, 0, min(c.limit, 256))
		c.shared = map[string]string{}
	}
	var e event
	var at *time.Time
	err := rows.Scan(&c.rawSnapshot, &e.seq, &e.ID, &c.rawSource, &c.rawType, &e.Subject, &at,
		&c.rawContentType, &c.rawSchema, &e.PartitionKey, &e.Extensions, &e.Data, &e.staged)
	if err != nil {
		return err
	}
	if string(c.rawSnapshot) != c.snapshot {
		c.snapshot = string(c.rawSnapshot)
	}
	e.Source, e.Type = c.share(c.rawSource), c.share(c.rawType)
	e.DataContentType, e.DataSchema = c.share(c.rawContentType), c.share(c.rawSchema)
	if at != nil {
		e.Time = at.UTC()
	}
	c.size += len(e.Data) + len(e.Extensions)
	c.events = append(c.events, e)
	if c.size > c.bytes && len(c.events) < c.limit {
		c.cut = true
		return errEnough
	}
	return nil
}

// share returns the text of raw, the same one for the same text.
func (c *collector) share(raw []byte) string {
	if text, ok := c.shared[string(raw)]; ok {
		return text
	}
	text := string(raw)
	c.shared[text] = text
	return text
}
