package relay_test

import (
	"testing"
	"time"
)

// TestManyWaitingEventsAreBoundedInMemory starts a relay beside 150,000 events that wait for a retry and
// are all due: it takes a page at a time, and the log goes on.
func TestManyWaitingEventsAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	const waiting, first, enough = 150_000, 3000, 500
	s := newSetup(t)
	s.exec(`WITH events AS (
		  INSERT INTO outbox.event_outbox (event_id, source, type, data)
		  SELECT 'waiting-' || n, '/test', 'test.happened', convert_to(repeat('x', 1000), 'UTF8') FROM generate_series(1, $1) AS n
		  RETURNING lane, seq, event_id)
		INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, attempts, reason_code, reason_detail_sha256, next_visible_at)
		SELECT 'default', lane, seq, event_id, 'retry_scheduled', 1, 'message_too_large', sha256('x'), now() - interval '1 hour' FROM events`, first)
	// Their turn never comes, so the log need not have them.
	s.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, attempts, reason_code, reason_detail_sha256, next_visible_at)
		SELECT 'default', n % 16, 10000000 + n, 'behind-' || n, 'retry_scheduled', 1, 'message_too_large', sha256('x'), now() - interval '1 minute'
		  FROM generate_series($1 + 1, $2) AS n`, first, waiting)
	// The batches that left them are settled.
	s.exec(`INSERT INTO outbox.outbox_lane (relay_group, lane, drained) SELECT 'default', n, pg_current_snapshot() FROM generate_series(0, 15) AS n
		ON CONFLICT (relay_group, lane) DO UPDATE SET drained = excluded.drained`)

	c := s.startChild(func(c *relayConfig) { c.Lease = 10 * time.Second })
	s.stage("fresh", 100)
	var peak int64
	s.eventually("some have left, and the log goes on", func() bool {
		peak = max(peak, c.memory())
		return s.settled() >= 100 && query[int](s, "SELECT count(*) FROM outbox.outbox_retry") <= waiting-enough
	})
	t.Logf("peak memory %d MiB beside %d waiting events", peak>>20, waiting)
	if peak > 48<<20 {
		t.Errorf("the relay took %d bytes beside %d waiting events", peak, waiting)
	}
}
