package retry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// clock is a clock of the database that a test sets: a function of another schema comes before
// that of the system in the search path of the store.
type clock struct{ b *bench }

// newClockBench returns a bench whose store reads the time from a clock, which stands at zero, and
// the clock.
func newClockBench(t *testing.T, change ...func(*retry.Config)) (*bench, clock) {
	t.Helper()
	b := newBench(t, change...)
	b.exec("CREATE SCHEMA clock")
	b.exec("CREATE TABLE clock.hand AS SELECT timestamptz 'epoch' AS at")
	b.exec("CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT h.at FROM clock.hand h'")
	pool := outboxtest.NewPool(t, b.db.URL, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog" })
	var cfg retry.Config
	for _, c := range change {
		c(&cfg)
	}
	store, err := retry.New(pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.Store = store
	return b, clock{b}
}

// set sets the clock to a time after zero.
func (c clock) set(at time.Duration) { c.b.exec("UPDATE clock.hand SET at = $1", moment(at)) }

// moment is the time that a clock shows after a duration.
func moment(at time.Duration) time.Time { return time.Unix(0, 0).Add(at) }

const ms = time.Millisecond

// TestLeaseEndsAtItsDeadline: one millisecond before it nobody else gets the row and its owner may
// commit; at the deadline itself it is the other way round.
func TestLeaseEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	b, clock := newClockBench(t)
	id := b.waiting("", "retry_scheduled")
	b.exec("UPDATE outbox.outbox_retry SET next_visible_at = $1", moment(100*ms))
	claim := func(at time.Duration) []retry.Claim {
		clock.set(at)
		claims, err := b.ClaimDue(t.Context(), worker, 50*ms, 10)
		if err != nil {
			t.Fatalf("claim at %s: %v", at, err)
		}
		return claims
	}
	if got := claim(99 * ms); len(got) != 0 {
		t.Fatalf("claimed %+v before it is visible", got)
	}
	first := claim(100 * ms)
	if len(first) != 1 || !first[0].LeaseUntil.Equal(moment(150*ms)) || first[0].RowVersion != 1 {
		t.Fatalf("claimed %+v when it is visible, want a lease until 150ms and version 1", first)
	}
	if got := claim(149 * ms); len(got) != 0 {
		t.Fatalf("claimed %+v one millisecond before the deadline", got)
	}
	// The owner is at its deadline, and nobody took the row.
	clock.set(150 * ms)
	before := b.state(id)
	for _, o := range []retry.Outcome{retry.Accepted("EVENTS", 1), retry.Skipped(), retry.Retryable(refused), retry.Permanent(refused)} {
		if _, err := b.Record(t.Context(), first[0], o); !errors.Is(err, retry.ErrConflict) {
			t.Errorf("an outcome at the deadline: %v, want a conflict", err)
		}
	}
	if after := b.state(id); after != before {
		t.Errorf("the row changed from %s to %s", before, after)
	}
	second := claim(150 * ms)
	if len(second) != 1 || second[0].ID != id || second[0].RowVersion != 2 || second[0].Token == first[0].Token {
		t.Fatalf("claimed %+v at the deadline, want the row with version 2 and another token", second)
	}
	// One millisecond before its deadline the owner may commit; the one of before may not.
	clock.set(199 * ms)
	if _, err := b.Record(t.Context(), first[0], retry.Retryable(refused)); !errors.Is(err, retry.ErrConflict) {
		t.Errorf("an outcome with the token of before: %v, want a conflict", err)
	}
	if r := b.record(second[0], retry.Retryable(refused)); r.Attempts != 2 {
		t.Errorf("result %+v, want the second attempt", r)
	}
}

// TestBackoffIsExactToTheMillisecond: an attempt at 100 is visible at 350, the next one, at 400, at
// 900. Scheduling a retry clears the lease and leaves the version to claims.
func TestBackoffIsExactToTheMillisecond(t *testing.T) {
	t.Parallel()
	b, clock := newClockBench(t)
	id := b.waiting("", "parked")
	b.exec("UPDATE outbox.outbox_retry SET next_visible_at = $1", moment(0))
	for i, at := range []struct{ outcome, visible time.Duration }{{100 * ms, 350 * ms}, {400 * ms, 900 * ms}} {
		clock.set(at.outcome)
		c := b.claimOne()
		r := b.record(c, retry.Retryable(refused))
		if r.Route != retry.RetryScheduled || r.Attempts != int32(i+1) || !r.NextVisible.Equal(moment(at.visible)) {
			t.Errorf("outcome at %s: %+v, want attempt %d visible at %s", at.outcome, r, i+1, at.visible)
		}
		sound := one[bool](b, `SELECT next_visible_at = $2 AND row_version = $3 AND num_nulls(lease_owner, lease_token, lease_until) = 3
			AND reason_code = $4 AND reason_detail_sha256 = $5 FROM outbox.outbox_retry WHERE id = $1`,
			id, moment(at.visible), c.RowVersion, string(refused.Code), refused.Digest())
		if !sound {
			t.Errorf("row after the outcome at %s: %s", at.outcome, b.state(id))
		}
		// Without a lease an old token matches nothing.
		if _, err := b.Record(t.Context(), c, retry.Skipped()); !errors.Is(err, retry.ErrConflict) {
			t.Errorf("a second outcome of one claim: %v, want a conflict", err)
		}
		clock.set(at.visible - ms)
		if got := b.claim(1); len(got) != 0 {
			t.Errorf("claimed %+v one millisecond before it is visible", got)
		}
	}
}
