package saga_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold/saga"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const ms = time.Millisecond

// moment is the time that the clock of a test shows after a duration. It lies ahead of what the
// columns of the tables have by default.
func moment(at time.Duration) time.Time {
	return time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)
}

// setClock makes the time of the bundle's pool the test's: functions of another schema come before
// those of the system in its search path. It returns what sets the time, which is at zero.
func (b *bundle) setClock() (set func(at time.Duration)) {
	b.t.Helper()
	b.exec(`CREATE SCHEMA clock;
		CREATE TABLE clock.hand (at timestamptz);
		CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT h.at FROM clock.hand h';
		CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT h.at FROM clock.hand h'`)
	b.exec(`INSERT INTO clock.hand VALUES ($1)`, moment(0))
	pool := outboxtest.NewPool(b.t, b.URL, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog, public" })
	database := *b.Database
	database.Pool = pool
	b.Database = &database
	return func(at time.Duration) {
		b.t.Helper()
		b.exec(`UPDATE clock.hand SET at = $1`, moment(at))
	}
}

// TestLeaseEndsAtItsDeadline: one millisecond before it the holder may renew and nobody else gets the
// operation, who is told that millisecond; at the deadline itself it is the other way round.
func TestLeaseEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	set, lease := b.setClock(), b.store.Settings().Lease
	r := b.request(b.draft())
	r.Subject = anySubject
	first := b.win(r)
	set(lease - ms)
	if got, is := b.claim(r).(saga.InProgressElsewhere); !is || got.RetryAfter != ms {
		t.Errorf("one millisecond before it the claim is %+v", got)
	}
	if err := b.store.Renew(t.Context(), b.Pool, first.Claim); err != nil {
		t.Errorf("one millisecond before it: %v", err)
	}
	set(2*lease - ms)
	if err := b.store.Renew(t.Context(), b.Pool, first.Claim); err == nil {
		t.Error("renewed at the deadline")
	}
	if won := b.win(r); !won.Stolen {
		t.Errorf("at the deadline the claim is %+v", won)
	}
}

// TestGraceEndsAtItsBoundary: one millisecond before it the operation is its client's, at the boundary it
// is the reconciler's. What is listed is what can be claimed.
func TestGraceEndsAtItsBoundary(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	set, settings := b.setClock(), b.store.Settings()
	r := b.request(b.draft())
	r.Subject = anySubject
	b.win(r)
	ours := func() (listed, claimed bool) {
		due, err := b.store.ListStuck(t.Context(), b.Pool, []string{kind}, 10)
		if err != nil {
			t.Fatal(err)
		}
		_, claimed, err = b.store.ClaimForCompensation(t.Context(), b.Pool, saga.Due{Operation: r.ID, Generation: 1}, "r")
		if err != nil {
			t.Fatal(err)
		}
		return len(due) == 1, claimed
	}
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{settings.Lease, false}, {settings.Lease + settings.Grace - ms, false}, {settings.Lease + settings.Grace, true}} {
		set(c.at)
		if listed, claimed := ours(); listed != c.want || claimed != c.want {
			t.Errorf("%s after the claim: listed %v, claimed %v, want %v", c.at, listed, claimed, c.want)
		}
	}
}

// TestRetentionEndsAtItsBoundary: what is exactly as old stays.
func TestRetentionEndsAtItsBoundary(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	set, retention := b.setClock(), b.store.Settings().Retention
	r := b.request(b.draft())
	r.Subject = anySubject
	claim := b.win(r).Claim
	err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
		_, err := b.store.MarkCompleted(t.Context(), tx, claim, []byte(`{}`))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	set(time.Hour)
	if _, err := b.store.MarkReleased(t.Context(), b.Pool, claim); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Duration
		want int64
	}{{retention, 0}, {time.Hour + retention, 0}, {time.Hour + retention + ms, 1}} {
		set(c.at)
		if n, err := b.store.Prune(t.Context(), b.Pool); err != nil || n != c.want {
			t.Errorf("%s after the claim: %d pruned, %v, want %d", c.at, n, err, c.want)
		}
	}
}

// TestClockThatGoesBackStealsNothing: the lease is over when the row is read, and lasts when it is to be taken.
func TestClockThatGoesBackStealsNothing(t *testing.T) {
	t.Parallel()
	b := setupAlone(t, saga.Settings{})
	set, lease := b.setClock(), b.store.Settings().Lease
	r := b.request(b.draft())
	r.Subject = anySubject
	first := b.win(r)
	b.exec(`CREATE SEQUENCE clock.looks MINVALUE 0;
		CREATE OR REPLACE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
			$$ SELECT h.at - nextval('clock.looks') * interval '1 s' FROM clock.hand h $$`)
	set(lease)
	if got, is := b.claim(r).(saga.InProgressElsewhere); !is || got.RetryAfter <= 0 {
		t.Errorf("the claim is %+v", got)
	}
	if holder := read[string](t, b.Pool, `SELECT lease_holder::text FROM outbox.saga_operation`); holder != first.Holder.String() {
		t.Errorf("it is of %s", holder)
	}
}
