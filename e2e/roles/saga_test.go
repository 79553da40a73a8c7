package roles_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

const (
	begin = `INSERT INTO outbox.saga_operation (operation_id, kind, lease_holder, lease_expires_at, digest_key_id, request_digest, participants, basis)
		VALUES ('00000000-0000-0000-0000-000000000001', 'k', gen_random_uuid(), clock_timestamp() - interval '1 h', 'k1', sha256('x'), '{people}', '{}')`
	stepped    = `INSERT INTO outbox.saga_step (operation_id, generation, step_key, remote_kind, remote_id) VALUES ('00000000-0000-0000-0000-000000000001', 1, 'a', 'a', 'a')`
	told       = `INSERT INTO outbox.saga_audit (operation_id, generation, action, actor, state_before, state_after) VALUES ('00000000-0000-0000-0000-000000000001', 1, 'abort', 'me', 'a', 'b')`
	complete   = `UPDATE outbox.saga_operation SET state = 'completed', result = '{}', lease_holder = NULL, lease_expires_at = NULL`
	lead       = `UPDATE outbox.saga_reconciler SET lease_token = gen_random_uuid(), lease_until = clock_timestamp()`
	retryIt    = `SELECT * FROM outbox.saga_retry('00000000-0000-0000-0000-000000000001', 'me', 'why')`
	abortIt    = `SELECT * FROM outbox.saga_abort('00000000-0000-0000-0000-000000000001', 'me', 'why')`
	operations = `SELECT operation_id, generation, kind, state, events_released, participants, attempts, created_at, updated_at,
		next_attempt_at, lease_expires_at, digest_key_id FROM outbox.saga_operation`
	sagaState = `SELECT * FROM outbox.saga_step, outbox.saga_audit`
)

// TestCoordinator: it drives operations, and decides about nothing else. Nobody changes the audit.
func TestCoordinator(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	c := b.as(canonical.Coordinator)
	c.can(begin+";"+stepped+";"+complete, begin+"; DELETE FROM outbox.saga_operation", begin+";"+stepped+"; DELETE FROM outbox.saga_step", told, lead,
		"SELECT * FROM outbox.saga_operation, outbox.saga_step, outbox.saga_reconciler")
	c.cannot(nobody...)
	c.cannot(payloads...)
	c.cannot(publish, register, release, cancel, requeue, discard, retryIt, abortIt, "SELECT * FROM outbox.saga_audit",
		"UPDATE outbox.saga_audit SET actor = 'me'", "DELETE FROM outbox.saga_audit", "UPDATE outbox.saga_step SET remote_id = 'b'",
		"INSERT INTO outbox.saga_reconciler DEFAULT VALUES", "DELETE FROM outbox.saga_reconciler")

	b.superuser(begin)
	o := b.as(canonical.Operator)
	o.can(operations, sagaState, abortIt, retryIt, "SELECT lease_until, ticked_at FROM outbox.saga_reconciler")
	o.cannot(begin, complete, told, lead, "DELETE FROM outbox.saga_operation", "SELECT basis FROM outbox.saga_operation",
		"SELECT result FROM outbox.saga_operation", "SELECT lease_holder FROM outbox.saga_operation", "SELECT request_digest FROM outbox.saga_operation")
	auditor := b.as(canonical.Auditor)
	auditor.can(operations, sagaState)
	auditor.cannot(begin, complete, abortIt, retryIt, "SELECT basis FROM outbox.saga_operation", "SELECT lease_token FROM outbox.saga_reconciler")
	for _, role := range []canonical.Role{canonical.Producer, canonical.Drainer, canonical.Maintainer, canonical.Claimer} {
		b.as(role).cannot(operations, begin, retryIt, abortIt)
	}
}
