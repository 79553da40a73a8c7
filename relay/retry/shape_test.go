package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

// TestWaitingSetTakesOnlySoundRows: the database refuses a row that no claim could judge, whoever
// writes it.
func TestWaitingSetTakesOnlySoundRows(t *testing.T) {
	t.Parallel()
	const check, notANumber, outOfRange, null = "23514", "22P02", "22003", "23502"
	b := newBench(t)
	parked, refusedOnce := b.waiting("", "parked"), b.waiting("", "retry_scheduled")
	for _, c := range []struct {
		name string
		id   int64
		set  string
		code string
	}{
		{"negative attempts", refusedOnce, "attempts = -1", check},
		{"attempts beyond their type", refusedOnce, "attempts = 2147483648", outOfRange},
		{"attempts that are no integer", refusedOnce, "attempts = '1.5'", notANumber},
		{"negative version", refusedOnce, "row_version = -1", check},
		{"negative epoch", refusedOnce, "requeue_epoch = -1", check},
		{"no time to be visible at", refusedOnce, "next_visible_at = NULL", null},
		{"no time of the last change", refusedOnce, "updated_at = NULL", null},
		{"unknown kind of work", refusedOnce, "work_kind = 'other'", check},
		{"unknown reason code", refusedOnce, "reason_code = 'because'", check},
		{"digest of 31 bytes", refusedOnce, "reason_detail_sha256 = decode(repeat('00', 31), 'hex')", check},
		{"digest of 33 bytes", refusedOnce, "reason_detail_sha256 = decode(repeat('00', 33), 'hex')", check},
		{"retry without attempts", refusedOnce, "attempts = 0", check},
		{"retry without a reason", refusedOnce, "reason_code = NULL", check},
		{"retry without a digest", refusedOnce, "reason_detail_sha256 = NULL", check},
		{"parked with attempts", parked, "attempts = 1", check},
		{"parked with a reason", parked, "reason_code = 'rejected'", check},
		{"parked with a digest", parked, "reason_detail_sha256 = sha256('x')", check},
		{"owner without a name", refusedOnce, leaseOf("''", "gen_random_uuid()", "now()"), check},
		{"owner of 129 bytes", refusedOnce, leaseOf("repeat('w', 129)", "gen_random_uuid()", "now()"), check},
		{"token that is none", refusedOnce, leaseOf("'w'", "'token'", "now()"), notANumber},
		{"lease of an owner only", refusedOnce, leaseOf("'w'", "NULL", "NULL"), check},
		{"lease of a token only", refusedOnce, leaseOf("NULL", "gen_random_uuid()", "NULL"), check},
		{"lease of a time only", refusedOnce, leaseOf("NULL", "NULL", "now()"), check},
		{"lease without an owner", refusedOnce, leaseOf("NULL", "gen_random_uuid()", "now()"), check},
		{"lease without a token", refusedOnce, leaseOf("'w'", "NULL", "now()"), check},
		{"lease without a time", refusedOnce, leaseOf("'w'", "gen_random_uuid()", "NULL"), check},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := b.db.Pool.Exec(t.Context(), "UPDATE outbox.outbox_retry SET "+c.set+" WHERE id = $1", c.id)
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.Code != c.code {
				t.Errorf("%s: %v, want SQLSTATE %s", c.set, err, c.code)
			}
		})
	}
	b.exec("UPDATE outbox.outbox_retry SET "+leaseOf("repeat('w', 128)", "gen_random_uuid()", "now()")+" WHERE id = $1", refusedOnce)
}

func leaseOf(owner, token, until string) string {
	return fmt.Sprintf("lease_owner = %s, lease_token = %s, lease_until = %s", owner, token, until)
}

// TestClaimIsTheWholeRow: what a claim says is what its row says.
func TestClaimIsTheWholeRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.waiting("k", "retry_scheduled")
	b.exec("UPDATE outbox.outbox_retry SET attempts = 3, row_version = 7, requeue_epoch = 2")
	c := b.claimOne()
	same := one[bool](b, `SELECT (lane, seq, event_id, partition_key, attempts, requeue_epoch, row_version, lease_owner, lease_token, lease_until)
		= ($2::smallint, $3::bigint, $4, $5, $6::integer, $7::integer, $8::bigint, $9, $10::uuid, $11::timestamptz) FROM outbox.outbox_retry WHERE id = $1`,
		id, c.Lane, c.Seq, c.EventID, c.Key, c.Attempts, c.Epoch, c.RowVersion, c.Owner, c.Token, c.LeaseUntil)
	if !same || c.RowVersion != 8 || c.Attempts != 3 || c.Epoch != 2 || c.Owner != worker {
		t.Errorf("claim %+v of the row %s", c, b.state(id))
	}
}

// TestOnlyTheDigestOfADetailIsStored looks for what the broker said in everything that is stored.
func TestOnlyTheDigestOfADetailIsStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	told := retry.Reason{Code: retry.Rejected, Detail: "the broker said: customer 4711"}
	first := b.waiting("", "retry_scheduled")
	b.record(b.claimOne(), retry.Retryable(told))
	b.due(first)
	b.waiting("", "retry_scheduled")
	claims := b.claim(2)
	b.record(claims[0], retry.Retryable(told))
	b.record(claims[1], retry.Permanent(told))
	for _, table := range []string{"outbox_retry", "outbox_dead_letter", "outbox_dead_letter_history"} {
		rows := one[string](b, "SELECT string_agg(x::text, ' ') FROM outbox."+table+" x")
		if strings.Contains(rows, "4711") || strings.Contains(rows, fmt.Sprintf("%x", "4711")) {
			t.Errorf("%s has the detail: %s", table, rows)
		}
		if table != "outbox_dead_letter_history" && !strings.Contains(rows, fmt.Sprintf("%x", told.Digest())) {
			t.Errorf("%s has not the digest: %s", table, rows)
		}
	}
}

// TestClaimReadsItsIndex: what is not due yet costs a claim nothing.
func TestClaimReadsItsIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, next_visible_at)
		SELECT 'default', n % 16, 1000000 + n, n::text, 'parked', 'infinity' FROM generate_series(1, 20000) AS n`)
	b.exec("ANALYZE outbox.outbox_retry")
	due := b.waiting("", "retry_scheduled")
	plan := b.explain(retry.Statements("outbox")["claim_due"], "default", worker, lease, 64, false)
	if !strings.Contains(plan, "outbox_retry_due") || strings.Contains(plan, "Seq Scan on outbox_retry r") {
		t.Errorf("a claim does not read what is due by its index:\n%s", plan)
	}
	if c := b.claimOne(); c.ID != due {
		t.Errorf("claimed %+v, want %d", c, due)
	}
}

// explain returns the plan of a statement.
func (b *bench) explain(sql string, args ...any) string {
	b.t.Helper()
	rows, err := b.db.Pool.Query(b.t.Context(), "EXPLAIN (COSTS OFF) "+sql, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestManyRefusedEventsTakeFewLocks: the lock table of a server has some thousand places, which its
// producers need.
func TestManyRefusedEventsTakeFewLocks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tx, err := b.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind, attempts)
		SELECT 'default', n % 2, n, 'event-' || n, 'parked', 0 FROM generate_series(1, 10000) AS n ORDER BY n % 2`); err != nil {
		t.Fatal(err)
	}
	var locks int
	if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").Scan(&locks); err != nil {
		t.Fatal(err)
	}
	if locks != 2 {
		t.Errorf("10,000 events of two lanes took %d locks, want one of each lane", locks)
	}
}
