package roles_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// What nobody but the owner may do, whatever his role.
var nobody = []string{
	"UPDATE outbox.event_outbox SET subject = 'x'",
	"DELETE FROM outbox.event_outbox",
	"TRUNCATE outbox.event_outbox",
	"INSERT INTO outbox.event_outbox (event_id, source, type, tx) VALUES ('1', '/s', 't', '3')",
	"INSERT INTO outbox.event_outbox (event_id, source, type, seq) VALUES ('1', '/s', 't', 3)",
	"INSERT INTO outbox.event_outbox_0 (event_id, source, type) VALUES ('1', '/s', 't')",
	"SELECT setval('outbox.event_outbox_seq', 1)",
	"ALTER TABLE outbox.event_outbox ADD COLUMN mine text",
	"CREATE TABLE outbox.mine ()",
	"CREATE TRIGGER mine BEFORE INSERT ON outbox.event_outbox FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	"UPDATE outbox.holdfast_schema SET version = 2",
	"UPDATE outbox.hold_generation SET state = 'released'",
	"DELETE FROM outbox.hold_audit",
	"UPDATE outbox.outbox_dead_letter_history SET actor = 'me'",
	"DELETE FROM outbox.outbox_dead_letter_history",
	"SELECT outbox._stage_one(NULL, NULL, '/s', 't', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
	"SELECT outbox._uuid('x', 'y')",
	"SELECT outbox._hold_gate('00000000-0000-0000-0000-000000000001', 1)",
}

// What nobody may do who is neither a producer nor the relay: see a payload.
var payloads = []string{
	"SELECT data FROM outbox.event_outbox",
	"SELECT * FROM outbox.event_outbox",
	"SELECT e FROM outbox.event_outbox e",
	"SELECT data FROM outbox.event_outbox_0",
	"SELECT data FROM outbox.outbox_dead_letter",
	"SELECT data FROM outbox.outbox_requeued",
	"COPY outbox.event_outbox TO STDOUT",
}

const (
	register = "SELECT * FROM outbox.hold_register('00000000-0000-0000-0000-000000000001', 1, 'me')"
	release  = "SELECT * FROM outbox.hold_release('00000000-0000-0000-0000-000000000001', 1, 'me')"
	cancel   = "SELECT * FROM outbox.hold_cancel('00000000-0000-0000-0000-000000000001', 1, 'me')"
	state    = "SELECT * FROM outbox.hold_state('00000000-0000-0000-0000-000000000001', 1)"
	holds    = "SELECT * FROM outbox.hold_list(), outbox.hold_events('00000000-0000-0000-0000-000000000001', 1), outbox.hold_measure(), outbox.compensation_quarantined('00000000-0000-0000-0000-000000000001', 1)"
	finish   = "SELECT * FROM outbox.compensation_finish('00000000-0000-0000-0000-000000000001', 1, 'me')"
	requeue  = "SELECT * FROM outbox.dead_letter_requeue('default', '{1}', 'me', 'why')"
	discard  = "SELECT * FROM outbox.dead_letter_discard('default', '{1}', 'me', 'why')"
	publish  = "SELECT outbox.publish('/s', 't')"
)

func TestOperator(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.superuser(`INSERT INTO outbox.outbox_dead_letter (seq, staged_at, attempts, lane, relay_group, reason_code, reason_detail_sha256, event_id, source, type, extensions, data)
		VALUES (7, now(), 3, 1, 'default', 'rejected', sha256('why'), 'e', '/s', 't', '{}', 'secret')`)
	a := b.as(canonical.Operator)
	a.can(
		"SELECT * FROM outbox.event_outbox_info",
		"SELECT * FROM outbox.outbox_dead_letter_info",
		"SELECT count(*) FROM outbox.event_outbox WHERE tx IS NULL AND lane = 1",
		"SELECT * FROM outbox.outbox_lane, outbox.outbox_relay, outbox.outbox_retry, outbox.outbox_batch, outbox.outbox_dead_letter_history",
		"SELECT * FROM outbox.hold_operation, outbox.hold_generation, outbox.hold_receipt, outbox.hold_audit",
		register, register+";"+release, register+";"+cancel, state, holds,
		register+"; SELECT outbox.hold_drop_event('00000000-0000-0000-0000-000000000001', 1, 'e', 'me', 'why')",
		"SELECT * FROM outbox.hold_overdue('1 min'), outbox.compensation_due('1 min'), outbox.hold_prune('me', '30 d')",
		cancel+"; SELECT * FROM outbox.compensation_receipts('00000000-0000-0000-0000-000000000001', 1); "+finish,
		`DO $$ BEGIN ASSERT (SELECT array_agg(id) FROM outbox.dead_letter_requeue('default', '{1,99}', 'me', 'why') AS id) = '{1}';
			ASSERT (SELECT action || actor || reason FROM outbox.outbox_dead_letter_history) = 'requeuedmewhy';
			ASSERT (SELECT work_kind || requeue_epoch FROM outbox.outbox_retry) = 'parked1'; END $$`,
		`DO $$ BEGIN ASSERT (SELECT array_agg(id) FROM outbox.dead_letter_discard('default', '{1,99}', 'me', 'why') AS id) = '{1}';
			ASSERT (SELECT action || actor || reason FROM outbox.outbox_dead_letter_history) = 'discardedmewhy';
			ASSERT NOT EXISTS (SELECT FROM outbox.outbox_dead_letter_info); END $$`,
	)
	a.cannot(nobody...)
	a.cannot(payloads...)
	a.cannot(publish, "INSERT INTO outbox.event_outbox (event_id, source, type) VALUES ('1', '/s', 't')",
		"UPDATE outbox.outbox_lane SET pos = NULL", "DELETE FROM outbox.outbox_dead_letter", "DELETE FROM outbox.outbox_retry")
}

func TestMaintainer(t *testing.T) {
	t.Parallel()
	a := newBundle(t).as(canonical.Maintainer)
	a.can(
		"SELECT * FROM outbox.event_outbox_info",
		"SELECT * FROM outbox.outbox_lane, outbox.outbox_relay, outbox.outbox_retry, outbox.outbox_batch",
	)
	a.cannot(nobody...)
	a.cannot(payloads...)
	a.cannot(publish, register, release, cancel, requeue, discard, "SELECT * FROM outbox.hold_audit", "UPDATE outbox.outbox_lane SET pos = NULL")
}

func TestAuditor(t *testing.T) {
	t.Parallel()
	a := newBundle(t).as(canonical.Auditor)
	a.can(
		"SELECT * FROM outbox.event_outbox_info",
		"SELECT * FROM outbox.outbox_dead_letter_info, outbox.outbox_dead_letter_history, outbox.outbox_batch",
		"SELECT * FROM outbox.hold_operation, outbox.hold_generation, outbox.hold_receipt, outbox.hold_audit",
		state, holds,
	)
	a.cannot(nobody...)
	a.cannot(payloads...)
	a.cannot(publish, register, release, cancel, requeue, discard, finish, "SELECT token FROM outbox.hold_inquiry",
		"SELECT outbox.hold_drop_event('00000000-0000-0000-0000-000000000001', 1, 'e', 'me', 'why')", "SELECT outbox.hold_prune('me', '30 d')",
		"SELECT lease_token FROM outbox.outbox_lane", "UPDATE outbox.outbox_lane SET pos = NULL")
}

// TestNobody: a login without a role has no right at all, not even to know what is installed.
func TestNobody(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.superuser(`CREATE ROLE ` + quote(b.owner+" stranger") + ` LOGIN`)
	a := as{t, b.connect(b.owner + " stranger")}
	a.cannot(nobody[:6]...)
	a.cannot(payloads...)
	a.cannot(publish, register, release, cancel, state, requeue, discard, "SELECT outbox.uuid_v7()",
		"SELECT * FROM outbox.holdfast_schema", "SELECT * FROM outbox.event_outbox_info", "SELECT nextval('outbox.event_outbox_seq')")
}
