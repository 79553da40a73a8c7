package retention_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestOldRecordsAreRemovedInBatches: each table that records has more old rows than one batch takes.
// What a comparison and what is still open need stays, and so does what is young.
func TestOldRecordsAreRemovedInBatches(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const old = 5000
	s.exec(`INSERT INTO outbox.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last, settled_at)
		SELECT g, i % 16, 1, i, i, 'ORDERS', i, i, clock_timestamp() - interval '20 days'
		  FROM generate_series(1, $1::int) AS i, unnest(ARRAY['default', 'mirror']) AS g ORDER BY i`, old)
	// A clock from the future dated these, and they are as old as those around them.
	s.exec("UPDATE outbox.outbox_batch SET settled_at = clock_timestamp() + interval '9 years' WHERE seq_first BETWEEN 100 AND 200")
	s.exec(`INSERT INTO outbox.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
		SELECT 'default', 0, 1, i, i, 'ORDERS', i, i FROM generate_series(6001, 6010) AS i`)
	history := func(id, n int, at string) {
		s.exec(`INSERT INTO outbox.outbox_dead_letter_history (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason, at)
			SELECT $1, $1, 1, 0, 0, 'default', 'e', 'dead-lettered', 'relay', 'malformed', clock_timestamp() - $3::text::interval FROM generate_series(1, $2::int)`, id, n, at)
	}
	history(1, old, "500 days")
	history(2, 7, "500 days") // still a dead letter
	s.exec(`INSERT INTO outbox.outbox_dead_letter (seq, staged_at, attempts, lane, relay_group, reason_code, reason_detail_sha256, event_id, source, type, extensions)
		VALUES (2, now(), 1, 0, 'default', 'malformed', sha256('x'), 'e', '/s', 't', '{}')`)
	history(3, 4, "399 days")
	s.register() // an operation that is open
	closed := s.register()
	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", closed)
	s.exec("ALTER TABLE outbox.hold_audit DISABLE TRIGGER hold_audit_append_only")
	s.exec(`INSERT INTO outbox.hold_audit (operation_id, generation, action, actor) SELECT operation_id, generation, 'register', 'old' FROM outbox.hold_generation, generate_series(1, $1::int)`, old/2)
	s.exec("UPDATE outbox.hold_audit SET at = at - interval '500 days'")
	s.exec("ALTER TABLE outbox.hold_audit ENABLE TRIGGER hold_audit_append_only")
	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", s.register()) // two young lines

	r := s.pass()
	if r.Pruned.Batches != 2*old-2 || r.Pruned.History != old || r.Pruned.Audit != old/2+2 {
		t.Errorf("removed %+v", r.Pruned)
	}
	// The furthest of each stream is left, besides the young ones.
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_batch WHERE stream_seq_last = $1", old); n != 2 {
		t.Errorf("%d of the furthest batches are left, want 2", n)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_batch"); n != 12 {
		t.Errorf("%d batches are left, want 12", n)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter_history"); n != 11 {
		t.Errorf("%d lines of history are left, want 11", n)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.hold_audit"); n != old/2+3 {
		t.Errorf("%d lines of audit are left, want %d", n, old/2+3)
	}
	// Nobody else may remove evidence, not even in the same session.
	token := s.claim("pod-b", hour)
	tx := s.begin()
	outboxtest.Exec(t, tx, "SELECT outbox.retention_prune($1::text::uuid, interval '0', interval '0')", token)
	if _, err := tx.Exec(t.Context(), "DELETE FROM outbox.hold_audit"); sqlState(err) != "HF019" {
		t.Errorf("delete of evidence: %v", err)
	}
}

// TestEvidenceOfAMonthStays, whatever is asked for.
func TestEvidenceOfAMonthStays(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec("SELECT outbox.hold_cancel($1, 1, 'test')", s.register())
	s.exec(`INSERT INTO outbox.outbox_dead_letter_history (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason, at)
		VALUES (1, 1, 1, 0, 0, 'default', 'e', 'discarded', 'x', 'y', clock_timestamp() - interval '29 days')`)
	token := s.claim("pod-a", hour)
	s.exec("SELECT outbox.retention_prune($1::text::uuid, interval '0', interval '0')", token)
	if n := query[int](s, "SELECT (SELECT count(*) FROM outbox.hold_audit) + (SELECT count(*) FROM outbox.outbox_dead_letter_history)"); n != 3 {
		t.Errorf("%d lines of evidence are left, want 3", n)
	}
}
