package relay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// load is a number of producers that go on whatever happens to the database.
type load struct {
	committed atomic.Int64 // events of transactions that are known to be committed
	failed    atomic.Int64 // transactions that ended in an error
	cancel    context.CancelFunc
	writers   sync.WaitGroup
}

// startLoad makes producers that stage two events in each transaction, one of a key that
// several of them write to and one without a key.
func (s *setup) startLoad(writers int) *load {
	s.t.Helper()
	s.exec("CREATE TABLE IF NOT EXISTS key_state (key text PRIMARY KEY, version bigint NOT NULL DEFAULT 0)")
	s.exec("INSERT INTO key_state SELECT 'k' || n FROM generate_series(0, 4) n ON CONFLICT DO NOTHING")
	ctx, cancel := context.WithCancel(s.t.Context())
	l := &load{cancel: cancel}
	for i := range writers {
		l.writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := s.write(ctx, fmt.Sprintf("k%d", (i+n)%5)); err != nil {
					l.failed.Add(1)
					pause(ctx, 10*time.Millisecond)
					continue
				}
				l.committed.Add(2)
				pause(ctx, time.Millisecond)
			}
		})
	}
	s.t.Cleanup(l.stop)
	return l
}

// write is one transaction of a writer that serialises with the others of its key.
func (s *setup) write(ctx context.Context, key string) error {
	return pgx.BeginFunc(ctx, s.db.Pool, func(tx pgx.Tx) error {
		var version int
		if err := tx.QueryRow(ctx, "UPDATE key_state SET version = version + 1 WHERE key = $1 RETURNING version", key).Scan(&version); err != nil {
			return err
		}
		_, err := outbox.PublishTx(ctx, tx, append(versions(key, version, 1), events("", 1)...)...)
		return err
	})
}

func (l *load) stop() {
	l.cancel()
	l.writers.Wait()
}

// wantLogInStream waits until everything is drained and compares the stream with the log:
// every committed event once, nothing else, each key in order.
func (s *setup) wantLogInStream() {
	s.t.Helper()
	s.eventually("nothing left to drain", func() bool {
		return s.backlog() == 0 && query[int](s, "SELECT count(*) FROM outbox.outbox_retry") == 0
	})
	s.compareWithLog()
}

func (s *setup) compareWithLog() {
	s.t.Helper()
	type row struct{ ID, Key string }
	rows, err := s.db.Pool.Query(s.t.Context(), "SELECT event_id, coalesce(partition_key, '') FROM outbox.event_outbox WHERE tx IS NOT NULL ORDER BY seq")
	if err != nil {
		s.t.Fatalf("read the log: %v", err)
	}
	log, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		s.t.Fatalf("read the log: %v", err)
	}
	committed := make(map[string]string, len(log))
	wantOrder := map[string][]string{}
	for _, r := range log {
		committed[r.ID] = r.Key
		if r.Key != "" {
			wantOrder[r.Key] = append(wantOrder[r.Key], r.ID)
		}
	}
	times := map[string]int{}
	gotOrder := map[string][]string{}
	for _, m := range s.inStream() {
		key, known := committed[m.ID()]
		if !known {
			s.t.Errorf("stream sequence %d: event %s was never committed", m.seq, m.ID())
		}
		times[m.ID()]++
		if key != "" {
			gotOrder[key] = append(gotOrder[key], m.ID())
		}
	}
	lost, twice := 0, 0
	for id := range committed {
		switch times[id] {
		case 0:
			lost++
		case 1:
		default:
			twice++
		}
	}
	if lost > 0 || twice > 0 {
		s.t.Errorf("of %d committed events %d are lost and %d are in the stream more than once", len(log), lost, twice)
	}
	for key, want := range wantOrder {
		got := gotOrder[key]
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				s.t.Errorf("key %s: event %d is %s in the log and %s in the stream", key, i, want[i], got[i])
				break
			}
		}
	}
}

// logged counts the committed events that are not held.
func (s *setup) logged() int64 {
	s.t.Helper()
	return query[int64](s, "SELECT count(*) FROM outbox.event_outbox WHERE tx IS NOT NULL")
}
