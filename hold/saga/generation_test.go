package saga_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox"
)

const abortedSQL = `UPDATE outbox.saga_operation SET state = 'aborted', lease_holder = NULL, lease_expires_at = NULL, generation = $2 WHERE operation_id = $1`

// aborted makes an operation whose generation was undone, and which has steps.
func (b *bundle) aborted(generation int) uuid.UUID {
	b.t.Helper()
	id := b.draft()
	b.win(b.request(id))
	b.exec(abortedSQL, id, generation)
	b.exec(`INSERT INTO outbox.saga_step VALUES ($1, DEFAULT, $2, 'person:0', 'person', 'p')`, id, generation)
	return id
}

// TestFailedClaimCountsNoGeneration: the next one that gets through takes exactly the next.
func TestFailedClaimCountsNoGeneration(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.aborted(3)
	r := b.request(id)
	for range 2 {
		hold := newBarrier()
		close(hold.leave)
		if _, err := b.store.ClaimOrResume(t.Context(), barrierDB{b.Pool, hold, false}, r); !errors.Is(err, errDied) {
			t.Fatalf("claim: %v", err)
		}
	}
	if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 3 {
		t.Errorf("the generation is %d after claims that failed", n)
	}
	if won := b.win(r); won.Generation != 4 {
		t.Errorf("the generation is %d, want 4", won.Generation)
	}
	if o := b.claim(r); o.Name() != "in_progress" {
		t.Errorf("the next claim is %s", o.Name())
	}
	if n := read[int](t, b.Pool, `SELECT generation FROM outbox.saga_operation`); n != 4 {
		t.Errorf("the generation is %d after a claim that was not won", n)
	}
}

// TestGenerationsEndAtTheLargestInteger: there is none behind it, and nothing is changed.
func TestGenerationsEndAtTheLargestInteger(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	id := b.aborted(math.MaxInt32)
	const row = `SELECT o::text || (SELECT count(*) FROM outbox.saga_step) FROM outbox.saga_operation o`
	before := read[string](t, b.Pool, row)
	var invalid *outbox.InvalidArgumentError
	if _, err := b.store.ClaimOrResume(t.Context(), b.Pool, b.request(id)); !errors.As(err, &invalid) || invalid.Argument != "generation" || outbox.Hint(err) == "" {
		t.Errorf("claim: %v", err)
	}
	if after := read[string](t, b.Pool, row); after != before {
		t.Errorf("%s became %s", before, after)
	}
}
