package roles_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	claim = `INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
		VALUES ('/s', 'a', 't', 'k', '/s', 'e', '{"amount": "5"}') ON CONFLICT DO NOTHING RETURNING id`
	received = `INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id) VALUES ('c', '/s', 'e')
		ON CONFLICT (consumer, event_source, event_id) DO UPDATE SET deliveries = consumer_inbox.deliveries + 1`
	quarantine = `INSERT INTO outbox.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference)
		SELECT id, 'c', '/s', 'e', 't', 'attribute_mismatch', '{}' FROM outbox.consumer_fact
		ON CONFLICT ON CONSTRAINT consumer_quarantine_event DO UPDATE SET seen_at = now() RETURNING state`
	died = `INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256)
		VALUES ('c', 's', 1, 3, 'permanent', sha256('why'));
		INSERT INTO outbox.consumer_dead_letter_history (dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
		VALUES (1, 1, 3, 'c', 's', 'dead', 'c', 'permanent')`
	pause   = `INSERT INTO outbox.consumer_control (consumer_group, state, changed_by, reason) VALUES ('g', 'paused', 'me', 'why')`
	replay  = `UPDATE outbox.consumer_dead_letter SET state = 'replay_requested', changed_at = now();
		INSERT INTO outbox.consumer_dead_letter_history (dead_letter_id, stream_seq, attempts, consumer, stream, state, actor, reason)
		VALUES (1, 1, 3, 'c', 's', 'replay_requested', 'me', 'why')`
	resolve = `UPDATE outbox.consumer_quarantine SET state = 'resolved', resolved_at = now(), resolved_by = 'me', resolution = 'why'`
)

// TestConsumer: whoever claims facts can neither change nor remove one, and does not decide
// about what needs a person.
func TestConsumer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	a := b.as(canonical.Claimer)
	a.can(claim, received, claim+";"+quarantine+";"+quarantine, died, "SELECT * FROM outbox.consumer_control",
		"SELECT * FROM outbox.consumer_fact, outbox.consumer_inbox, outbox.consumer_quarantine, outbox.consumer_dead_letter",
		"DELETE FROM outbox.consumer_inbox", "DELETE FROM outbox.consumer_dead_letter")
	a.cannot(nobody...)
	a.cannot(payloads...)
	a.cannot(publish, register, requeue, discard, pause, resolve, "SELECT * FROM outbox.consumer_repair",
		"UPDATE outbox.consumer_fact SET attributes = '{}'", "DELETE FROM outbox.consumer_fact", "TRUNCATE outbox.consumer_fact CASCADE",
		"DELETE FROM outbox.consumer_quarantine", "DELETE FROM outbox.consumer_dead_letter_history",
		"UPDATE outbox.consumer_dead_letter_history SET actor = 'me'")

	b.superuser(claim)
	o := b.as(canonical.Operator)
	o.can(pause, pause+"; UPDATE outbox.consumer_control SET state = 'running'", resolve, replay,
		"SELECT * FROM outbox.consumer_inbox, outbox.consumer_quarantine, outbox.consumer_dead_letter, outbox.consumer_dead_letter_history",
		"SELECT id, fact_key, event_id FROM outbox.consumer_fact", "SELECT canonical_id, reason FROM outbox.consumer_repair")
	o.cannot(claim, received, quarantine, died, "SELECT attributes FROM outbox.consumer_fact",
		"SELECT row_snapshot FROM outbox.consumer_repair", "DELETE FROM outbox.consumer_control",
		"UPDATE outbox.consumer_dead_letter SET claim_token = NULL", "DELETE FROM outbox.consumer_dead_letter",
		"UPDATE outbox.consumer_dead_letter_history SET actor = 'you'")
	auditor := b.as(canonical.Auditor)
	auditor.can("SELECT * FROM outbox.consumer_control, outbox.consumer_quarantine, outbox.consumer_dead_letter_history")
	auditor.cannot(claim, pause, resolve, replay, "SELECT attributes FROM outbox.consumer_fact")
}
