package retry_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestRequeuesAtOnceMoveEachDeadLetterOnce: several people requeue and discard the same dead letters at the
// same time. Each has one fate, and the history says whose.
func TestRequeuesAtOnceMoveEachDeadLetterOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const letters, people = 40, 6
	for range letters {
		b.bury("")
	}
	list, err := b.List(t.Context(), retry.Filter{})
	if err != nil || len(list) != letters {
		t.Fatalf("%d dead letters (%v)", len(list), err)
	}
	ids := make([]int64, letters)
	for i := range list {
		ids[i] = list[i].ID
	}
	var mu sync.Mutex // guards moved
	moved := map[int64]int{}
	var all sync.WaitGroup
	for i := range people {
		act, mine := b.Requeue, slices.Clone(ids)
		if i%3 == 2 {
			act = b.Discard
		}
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		all.Go(func() {
			for chunk := range slices.Chunk(mine, 10) {
				done, err := act(t.Context(), chunk, "somebody", "at once")
				if err != nil {
					t.Errorf("act: %v", err)
				}
				mu.Lock()
				for _, id := range done {
					moved[id]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if moved[id] != 1 {
			t.Errorf("dead letter %d was moved %d times", id, moved[id])
		}
	}
	if n := b.count("outbox_dead_letter"); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
	requeued := one[int64](b, "SELECT count(*) FROM outbox.outbox_dead_letter_history WHERE action = 'requeued'")
	if n := b.count("outbox_retry"); n != requeued {
		t.Errorf("%d events wait, the history says that %d were requeued", n, requeued)
	}
	if n := one[int64](b, "SELECT count(*) FROM outbox.outbox_dead_letter_history WHERE action IN ('requeued', 'discarded')"); n != letters {
		t.Errorf("the history has %d acts, want %d", n, letters)
	}
}

// TestWhatIsInFlightCannotBeRequeued: an event that a worker publishes at this moment is no dead letter, and
// asking for it again moves nothing, now and when it is through.
func TestWhatIsInFlightCannotBeRequeued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.bury("k")
	list, err := b.List(t.Context(), retry.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("dead letters %+v (%v)", list, err)
	}
	id := []int64{list[0].ID}
	if moved, err := b.Requeue(t.Context(), id, "ops", "mended"); err != nil || len(moved) != 1 {
		t.Fatalf("moved %v (%v)", moved, err)
	}
	inFlight := b.claimOne()
	for range 2 {
		if moved, err := b.Requeue(t.Context(), id, "ops", "impatient"); err != nil || len(moved) != 0 {
			t.Errorf("moved %v (%v) while it is in flight", moved, err)
		}
	}
	if got := b.claim(10); len(got) != 0 {
		t.Errorf("claimed %+v a second time", got)
	}
	b.record(inFlight, retry.Accepted("EVENTS", 3))
	if moved, err := b.Requeue(t.Context(), id, "ops", "late"); err != nil || len(moved) != 0 {
		t.Errorf("moved %v (%v) when it was through", moved, err)
	}
	if n := b.count("outbox_retry"); n != 0 {
		t.Errorf("%d events wait", n)
	}
}
