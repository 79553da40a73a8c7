package retry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

const (
	worker = "worker-1"
	lease  = 30 * time.Second
)

var refused = retry.Reason{Code: retry.MessageTooLarge, Detail: "message size exceeds maximum allowed"}

// bench is a store on a database of a test's own.
type bench struct {
	*retry.Store
	t  *testing.T
	db *outboxtest.Database
}

func newBench(t *testing.T, change ...func(*retry.Config)) *bench {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	var cfg retry.Config
	for _, c := range change {
		c(&cfg)
	}
	s, err := retry.New(relayPool(t, db), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Store: s, t: t, db: db}
}

// relayPool is how a store gets to its database.
func relayPool(t *testing.T, db *outboxtest.Database) *pgxpool.Pool {
	t.Helper()
	if url := relayURL(t, db.URL); url != db.URL {
		return openPool(t, url)
	}
	return db.Pool
}

func openPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	return outboxtest.NewPool(t, url)
}

// waiting puts an event of a key into the log and into the waiting set, as a settle does, and
// returns the id of its row. Without a key the event has no order.
func (b *bench) waiting(key, kind string) int64 {
	b.t.Helper()
	return one[int64](b, `WITH e AS (
		  INSERT INTO outbox.event_outbox (event_id, source, type, partition_key, data)
		  VALUES (gen_random_uuid()::text, '/test', 'test.happened', nullif($1, ''), '\x00ff') RETURNING *)
		INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, partition_key, work_kind, attempts, reason_code, reason_detail_sha256, next_visible_at)
		SELECT 'default', lane, seq, event_id, partition_key, $2,
		       CASE $2 WHEN 'parked' THEN 0 ELSE 1 END,
		       CASE $2 WHEN 'parked' THEN NULL ELSE 'message_too_large' END,
		       CASE $2 WHEN 'parked' THEN NULL ELSE sha256('first') END,
		       CASE $2 WHEN 'parked' THEN 'infinity' ELSE clock_timestamp() END
		  FROM e RETURNING id`, key, kind)
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.db.Pool, sql, args...)
}

func one[T any](b *bench, sql string, args ...any) T {
	b.t.Helper()
	return outboxtest.One[T](b.t, b.db.Pool, sql, args...)
}

// state is a row as text, to compare before and after.
func (b *bench) state(id int64) string {
	b.t.Helper()
	return one[string](b, "SELECT coalesce((SELECT r::text FROM outbox.outbox_retry r WHERE id = $1), 'gone')", id)
}

func (b *bench) claim(limit int) []retry.Claim {
	b.t.Helper()
	claims, err := b.ClaimDue(b.t.Context(), worker, lease, limit)
	if err != nil {
		b.t.Fatalf("claim: %v", err)
	}
	return claims
}

func (b *bench) claimOne() retry.Claim {
	b.t.Helper()
	claims := b.claim(10)
	if len(claims) != 1 {
		b.t.Fatalf("claimed %d rows, want 1", len(claims))
	}
	return claims[0]
}

func (b *bench) record(c retry.Claim, o retry.Outcome) retry.Result {
	b.t.Helper()
	r, err := b.Record(b.t.Context(), c, o)
	if err != nil {
		b.t.Fatalf("record: %v", err)
	}
	return r
}

// due makes a row due now, whatever its pause.
func (b *bench) due(id int64) {
	b.exec("UPDATE outbox.outbox_retry SET next_visible_at = clock_timestamp() - interval '1 ms' WHERE id = $1", id)
}

func (b *bench) count(table string) int64 {
	b.t.Helper()
	return one[int64](b, fmt.Sprintf("SELECT count(*) FROM outbox.%s", table))
}
