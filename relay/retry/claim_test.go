package retry_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

func TestClaimTakesDueRowsInOrderWithFreshTokens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second, third := b.waiting("", "retry_scheduled"), b.waiting("", "retry_scheduled"), b.waiting("", "retry_scheduled")
	// Two are due at the same moment: the id decides.
	b.exec("UPDATE outbox.outbox_retry SET next_visible_at = now() - interval '1 min' WHERE id IN ($1, $2)", second, third)
	claims := b.claim(2)
	if len(claims) != 2 || claims[0].ID != second || claims[1].ID != third {
		t.Fatalf("claimed %+v, want %d and %d", claims, second, third)
	}
	if claims[0].Token == claims[1].Token {
		t.Error("two claims share a token")
	}
	if rest := b.claim(10); len(rest) != 1 || rest[0].ID != first {
		t.Errorf("the third claim is %+v, want %d alone: the others are leased", rest, first)
	}
	// A lease that ends gives the row to the next worker, with a new token and version.
	b.exec("UPDATE outbox.outbox_retry SET lease_until = clock_timestamp() - interval '1 us' WHERE id = $1", second)
	again := b.claimOne()
	if again.ID != second || again.Token == claims[0].Token || again.RowVersion != claims[0].RowVersion+1 {
		t.Errorf("claimed again %+v after %+v, want the same row, another token, the next version", again, claims[0])
	}
}

func TestClaimRefusesBadBoundsAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	before := b.state(id)
	for name, call := range map[string]func() ([]retry.Claim, error){
		"empty worker": func() ([]retry.Claim, error) { return b.ClaimDue(t.Context(), "", lease, 1) },
		"long worker":  func() ([]retry.Claim, error) { return b.ClaimDue(t.Context(), strings.Repeat("w", 129), lease, 1) },
		"no lease":     func() ([]retry.Claim, error) { return b.ClaimDue(t.Context(), worker, 0, 1) },
		"long lease":   func() ([]retry.Claim, error) { return b.ClaimDue(t.Context(), worker, 2*time.Hour, 1) },
		"no limit":     func() ([]retry.Claim, error) { return b.ClaimDue(t.Context(), worker, lease, 0) },
	} {
		var invalid *retry.InvalidError
		if _, err := call(); !errors.As(err, &invalid) {
			t.Errorf("%s: %v, want an *InvalidError", name, err)
		}
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
}

func TestUnsoundRowStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"row version at its end": "UPDATE outbox.outbox_retry SET row_version = 9223372036854775807 WHERE id = $1",
		"unknown reason code": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_reason_code_check;
			UPDATE outbox.outbox_retry SET reason_code = 'because' WHERE id = $1`,
		"digest that is not one": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_reason_detail_sha256_check;
			UPDATE outbox.outbox_retry SET reason_detail_sha256 = '\x00' WHERE id = $1`,
		"part of a lease": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_lease;
			UPDATE outbox.outbox_retry SET lease_token = gen_random_uuid() WHERE id = $1`,
		"unknown kind of work": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_work_kind_check;
			UPDATE outbox.outbox_retry SET work_kind = 'other' WHERE id = $1`,
		"attempts that do not fit": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_work;
			UPDATE outbox.outbox_retry SET work_kind = 'parked' WHERE id = $1`,
		"reason that is missing": `ALTER TABLE outbox.outbox_retry DROP CONSTRAINT outbox_retry_work;
			UPDATE outbox.outbox_retry SET reason_code = NULL WHERE id = $1`,
		"dead letter as well": `ALTER TABLE outbox.outbox_dead_letter DISABLE TRIGGER outbox_dead_letter_one_fate;
			INSERT INTO outbox.outbox_dead_letter (relay_group, lane, seq, staged_at, attempts, reason_code, reason_detail_sha256, event_id, source, type, extensions)
			SELECT relay_group, lane, seq, now(), 1, 'rejected', sha256('x'), event_id, '/test', 't', '{}' FROM outbox.outbox_retry WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bad, good := b.waiting("", "retry_scheduled"), b.waiting("", "retry_scheduled")
			for _, sql := range strings.SplitAfter(spoil, ";") {
				if strings.Contains(sql, "$1") {
					b.exec(sql, bad)
				} else {
					b.exec(sql)
				}
			}
			before := b.state(bad)
			if got, err := b.ClaimDue(t.Context(), worker, lease, 1); err != nil || len(got) != 1 || got[0].ID != good {
				t.Errorf("claimed %+v (%v), want the sound one, %d", got, err, good)
			}
			if got := b.claim(10); len(got) != 0 {
				t.Errorf("claimed %+v, which is not sound", got)
			}
			if after := b.state(bad); after != before {
				t.Errorf("the unsound row changed from %s to %s", before, after)
			}
			list, err := b.Unsound(t.Context(), 10)
			if err != nil || len(list) != 1 || list[0].ID != bad {
				t.Errorf("unsound rows are %+v (%v), want %d alone", list, err, bad)
			}
		})
	}
}

func TestConcurrentClaimsShareTheRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 200
	for range n {
		b.waiting("", "retry_scheduled")
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				claims, err := b.ClaimDue(t.Context(), worker, lease, 7)
				if err != nil {
					t.Error(err)
					return
				}
				if len(claims) == 0 {
					return
				}
				mu.Lock()
				for _, c := range claims {
					if seen[c.ID] {
						t.Errorf("row %d was claimed twice", c.ID)
					}
					seen[c.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	// A claim skips what another holds for a moment; what is left is claimed at leisure.
	for _, c := range b.claim(n) {
		seen[c.ID] = true
	}
	if len(seen) != n {
		t.Errorf("%d rows were claimed, want %d", len(seen), n)
	}
}

func TestKeyWaitsBehindItsHead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	head, parked := b.waiting("k", "retry_scheduled"), b.waiting("k", "parked")
	other := b.waiting("other", "retry_scheduled")
	claims := b.claim(10)
	if len(claims) != 2 || claims[0].ID != head || claims[1].ID != other {
		t.Fatalf("claimed %+v, want the heads %d and %d", claims, head, other)
	}
	b.due(parked) // due or not, it is not the head
	if got := b.claim(10); len(got) != 0 {
		t.Fatalf("claimed %+v while the head is leased", got)
	}
	b.record(claims[0], retry.Accepted("EVENTS", 7))
	if c := b.claimOne(); c.ID != parked || c.Attempts != 0 {
		t.Errorf("claimed %+v after the head left, want %d with no attempts", c, parked)
	}
}

func TestParkedRowWhoseHeadLeftUnseenIsPromoted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	parked := b.waiting("k", "parked")
	if got := b.claim(10); len(got) != 0 {
		t.Fatalf("claimed %+v, a parked row is not due by itself", got)
	}
	if n, err := b.PromoteLost(t.Context()); err != nil || n != 1 {
		t.Fatalf("promoted %d (%v), want 1", n, err)
	}
	if c := b.claimOne(); c.ID != parked {
		t.Errorf("claimed %d, want %d", c.ID, parked)
	}
}

// TestAnotherClusterGivesNothing: a copy that was put in place of the database has rows that another
// relay may have published already.
func TestAnotherClusterGivesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("", "retry_scheduled")
	b.exec("UPDATE outbox.holdfast_schema SET system_identifier = -system_identifier")
	if got := b.claim(10); len(got) != 0 {
		t.Errorf("claimed %+v", got)
	}
	b.exec("UPDATE outbox.holdfast_schema SET system_identifier = -system_identifier")
	if c := b.claimOne(); c.ID != id {
		t.Errorf("claimed %+v, want %d", c, id)
	}
}
