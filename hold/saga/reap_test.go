package saga_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga"
)

// reap is what a service's reaper does, up to its commit.
func (b *bundle) reap(tx pgx.Tx) (reaped int64, err error) {
	rows, err := tx.Query(b.t.Context(), `SELECT id FROM draft WHERE expires_at <= clock_timestamp() ORDER BY id FOR UPDATE SKIP LOCKED`)
	if err != nil {
		return 0, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return 0, err
	}
	tag, err := tx.Exec(b.t.Context(), `DELETE FROM draft d WHERE d.id = ANY ($1) AND d.expires_at <= clock_timestamp() AND NOT `+b.store.NotReapable("d.id"), ids)
	return tag.RowsAffected(), err
}

// TestReaperLeavesSubjectsOfOperations that have not ended, and takes the others.
func TestReaperLeavesSubjectsOfOperations(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	for state, goes := range map[saga.State]bool{
		"": true, saga.StateInProgress: false, saga.StateCompensating: false, saga.StateStuck: false, saga.StateAborted: true, saga.StateCompleted: true,
	} {
		id := b.draft()
		if state != "" {
			b.win(b.request(id))
			b.exec(`UPDATE outbox.saga_operation SET state = $2, lease_holder = CASE WHEN $2 IN ('in_progress', 'compensating') THEN lease_holder END,
				lease_expires_at = CASE WHEN $2 IN ('in_progress', 'compensating') THEN lease_expires_at END,
				result = CASE WHEN $2 = 'completed' THEN '{}'::jsonb END WHERE operation_id = $1`, id, string(state))
		}
		b.exec(`UPDATE draft SET expires_at = clock_timestamp() WHERE id = $1`, id)
		var n int64
		if err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) (err error) { n, err = b.reap(tx); return err }); err != nil {
			t.Fatal(err)
		}
		if (n == 1) != goes {
			t.Errorf("%s: %d reaped", state, n)
		}
	}
}

// TestReaperAgainstClaim: whoever locks the subject first wins, and the other one sees it.
func TestReaperAgainstClaim(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	begin := func() pgx.Tx {
		tx, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	reap := func(tx pgx.Tx) int64 {
		n, err := b.reap(tx)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n
	}

	id := b.draft()
	r := b.request(id)
	hold := newBarrier()
	first := b.claiming(barrierDB{b.Pool, hold, true}, r)
	wait(t, "the claim has the subject", hold.reached)
	tx := begin()
	if _, err := b.reap(tx); err != nil { // skips what is locked
		t.Fatal(err)
	}
	close(hold.leave)
	if o := wait(t, "the claim", first); o.Name() != "won" {
		t.Errorf("claim is %s", o.Name())
	}
	b.exec(`UPDATE draft SET expires_at = clock_timestamp() WHERE id = $1`, id)
	if n := reap(tx); n != 0 { // in the same transaction, later: its statement sees the claim
		t.Errorf("%d reaped", n)
	}

	id = b.draft()
	r = b.request(id)
	tx = begin()
	b.exec(`UPDATE draft SET expires_at = clock_timestamp() WHERE id = $1`, id)
	if n, err := b.reap(tx); n != 1 || err != nil {
		t.Fatalf("%d reaped, %v", n, err)
	}
	r.Subject = b.requestIgnoringExpiry(id)
	conn, pid := b.conn()
	second := b.claiming(conn, r)
	b.waitBlocked(pid)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := wait(t, "the claim", second); o.Name() != "subject_gone" {
		t.Errorf("claim is %s", o.Name())
	}
}
