package reconcile

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

const (
	progressEvery = 100_000
	// slack is how much larger than its share a part may turn out before its list has to grow.
	slack = 1.1
)

// capacity is how many entries a part will have.
func capacity(all int64, p part) int {
	if p.of == 1 {
		return int(all)
	}
	return int(slack * float64(all) / float64(p.of))
}

// readLog reads the events of a part, and in the first pass the sources of all.
func (r *run) readLog(ctx context.Context, p part) ([]event, error) {
	rows, err := r.tx.Query(ctx, r.sql["log"], r.cfg.Relay.Group, r.window.First, r.window.End)
	if err != nil {
		return nil, err
	}
	events := make([]event, 0, capacity(r.report.Events, p))
	var record outbox.Record
	var at *time.Time
	var e event
	var isHeld, isExpected bool
	var sum []byte
	_, err = pgx.ForEachRow(rows, []any{&e.lane, &e.seq, &isHeld, &isExpected, &record.ID, &record.Source, &record.Type, &record.Subject, &at,
		&record.DataContentType, &record.DataSchema, &record.PartitionKey, &record.Extensions, &sum}, func() error {
		r.progress(1, 0)
		if p.n == 0 {
			r.sources[r.sourceHash(record.Source)] = struct{}{}
		}
		id, _, _ := parseID(wire.MsgID(record.Source, record.ID))
		e.head, e.tail, e.key = id.head, id.tail, r.keyHash(record.PartitionKey)
		if !p.has(e.key, id) {
			return nil
		}
		e.state, e.digest, e.stream, e.copies = onItsWay, 0, 0, 0
		switch {
		case isHeld:
			e.state = held
		case isExpected:
			e.state = expected
			record.Time = time.Time{}
			if at != nil {
				record.Time = at.UTC()
			}
			if c, err := r.digests.ofRecord(&record, sum); err == nil { // else nothing can be compared
				e.digest = c.digest
			}
		}
		events = append(events, e)
		return nil
	})
	return events, err
}

// readStream shows the messages of a part to judge, in their order, and in the first pass counts those
// that are nobody's. It returns which ones came.
func (r *run) readStream(ctx context.Context, p part, judge func(*message)) (read reading, err error) {
	err = walk.Stream(ctx, r.js, r.stream, walk.Config{Since: r.readSince()}, func(m walk.Message) error {
		r.progress(0, 1)
		read.add(m.Sequence)
		if p.n == 0 {
			r.report.Messages++
		}
		if found, ok := r.messageOf(m, p.n == 0); ok && p.has(found.key, found.id) {
			judge(&found)
		}
		return nil
	})
	return read, err
}

// readSince is when the first message was stored that is read; zero for all.
func (r *run) readSince() time.Time {
	if r.window.After.IsZero() {
		return time.Time{}
	}
	return r.window.After.Add(-r.cfg.Skew)
}

// messageOf reads a message. It is not ok for one that is not compared, which is counted.
func (r *run) messageOf(read walk.Message, count bool) (m message, ok bool) {
	text := read.Header.Get(nats.MsgIdHdr)
	id, replayed, ours := parseID(text)
	if !ours || replayed {
		if count {
			class := Other
			if replayed {
				class = Replayed
			}
			r.report.note(r.cfg.Examples, Example{Class: class, MessageID: text, StreamSeq: read.Sequence})
		}
		return m, false
	}
	m = message{id: id, seq: read.Sequence}
	if m.seq > r.before {
		m.marks |= younger
	}
	if m.seq > r.since && read.Stored.After(r.horizon) && !read.Stored.Before(r.cfg.Since) &&
		(r.cfg.Until.IsZero() || read.Stored.Before(r.cfg.Until)) {
		m.marks |= judged
	}
	c, err := r.digests.ofMessage(read.Header, read.Data)
	if err != nil {
		m.marks |= unreadable
		return m, true
	}
	m.digest, m.key, m.source = c.digest, r.keyHash(c.key), r.sourceHash(c.source)
	if r.gone[c.id] {
		m.marks |= forgotten
	}
	return m, true
}

func (r *run) sourceHash(source string) uint32 { return uint32(maphash.String(r.seed, source)) }

func (r *run) progress(events, messages int64) {
	r.read.e += events
	r.read.m += messages
	if (r.read.e+r.read.m)%progressEvery == 0 {
		r.cfg.Progress(r.read.e, r.read.m)
	}
}
