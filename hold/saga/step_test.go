package saga_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

// TestStepWaitsForASteal that is under way: it is recorded or refused by what the steal comes to, and not by
// what was there before.
func TestStepWaitsForASteal(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	key, err := receipt.ParseStepKey("person")
	if err != nil {
		t.Fatal(err)
	}
	for name, stolen := range map[string]bool{"and it was stolen": true, "and it was not": false} {
		id := b.draft()
		won := b.win(b.request(id))
		thief, err := b.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = thief.Rollback(t.Context()) }) // it has ended
		if _, err := thief.Exec(t.Context(), `UPDATE outbox.saga_operation SET lease_holder = $2 WHERE operation_id = $1`, id, uuid.New()); err != nil {
			t.Fatal(err)
		}
		conn, pid := b.conn()
		recorded := make(chan error, 1)
		go func() { recorded <- b.store.RecordStep(t.Context(), conn, won.Claim, key, "person", "p1") }()
		b.until("the step waits for the steal", func() bool {
			return len(recorded) > 0 || read[bool](t, b.Pool, `SELECT cardinality(pg_blocking_pids($1)) > 0`, pid)
		})
		if end := map[bool]func() error{true: func() error { return thief.Commit(t.Context()) }, false: func() error { return thief.Rollback(t.Context()) }}[stolen]; end() != nil {
			t.Fatal("the steal did not end")
		}
		err = wait(t, "the step", recorded)
		steps := read[int](t, b.Pool, `SELECT count(*) FROM outbox.saga_step WHERE operation_id = $1`, id)
		if errors.Is(err, saga.ErrLeaseLost) != stolen || (steps == 0) != stolen {
			t.Errorf("%s: %v, %d steps", name, err, steps)
		}
	}
}
