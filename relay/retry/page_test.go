package retry_test

import "testing"

// TestPageOfRowsThatCannotBeClaimedHidesNoOther puts more rows than a claim takes in front of those
// that are due: leased ones, ones that another transaction holds, ones that are unsound, and
// ones behind the head of their key.
func TestPageOfRowsThatCannotBeClaimedHidesNoOther(t *testing.T) {
	t.Parallel()
	const page, crowd = 5, 100
	for _, c := range []struct {
		name  string
		spoil string // the rows in front
		held  bool   // in a transaction that stays open
	}{
		{"leased", "UPDATE outbox.outbox_retry SET lease_owner = 'x', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'", false},
		{"held by another transaction", "SELECT FROM outbox.outbox_retry FOR UPDATE", true},
		{"unsound", "UPDATE outbox.outbox_retry SET row_version = 9223372036854775807", false},
		{"behind the head of their key", `UPDATE outbox.outbox_retry SET partition_key = 'k',
			lane = (SELECT min(lane) FROM outbox.outbox_retry), seq = 1000000 + id,
			next_visible_at = CASE id WHEN (SELECT min(id) FROM outbox.outbox_retry) THEN 'infinity' ELSE next_visible_at END`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for range crowd {
				b.waiting("", "retry_scheduled")
			}
			b.exec("UPDATE outbox.outbox_retry SET next_visible_at = clock_timestamp() - interval '1 hour'")
			if c.held {
				tx, err := b.db.Pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(t.Context()) //nolint:errcheck // ends with the test
				if _, err := tx.Exec(t.Context(), c.spoil); err != nil {
					t.Fatal(err)
				}
			} else {
				b.exec(c.spoil)
			}
			want := map[int64]bool{}
			for range page {
				want[b.waiting("", "retry_scheduled")] = true
			}
			for _, claim := range b.claim(page) {
				if !want[claim.ID] {
					t.Errorf("claimed row %d, which is in front", claim.ID)
				}
				delete(want, claim.ID)
			}
			if len(want) != 0 {
				t.Errorf("%d of %d rows that are due were not claimed", len(want), page)
			}
		})
	}
}
