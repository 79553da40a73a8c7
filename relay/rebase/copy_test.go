package rebase_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var copies atomic.Int64

// another makes an empty database in a cluster.
func another(t *testing.T, pg *harness.Postgres) *store {
	t.Helper()
	name := fmt.Sprintf("copy_%d", copies.Add(1))
	if err := pg.CreateDatabase(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	return open(t, pg.URL(name))
}

// restore dumps a database and restores it in another cluster.
func restore(t *testing.T, from *store, pg *harness.Postgres) *store {
	t.Helper()
	to := another(t, pg)
	dump := exec.Command(filepath.Join(pg.BinDir(), "pg_dump"), "--dbname="+from.url)
	var errors bytes.Buffer
	dump.Stderr = &errors
	text, err := dump.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, errors.String())
	}
	psql := exec.Command(filepath.Join(pg.BinDir(), "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "--dbname="+to.url)
	psql.Stdin = bytes.NewReader(text)
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return to
}

// replicate copies the rows of a database into another cluster as logical replication does: the
// schema is installed there, sequences stay where they are, and each transaction of the
// log is copied by one of its own.
func replicate(t *testing.T, from *store, pg *harness.Postgres, byTransaction bool) *store {
	t.Helper()
	to := another(t, pg)
	conn, err := to.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := gen.Install(t.Context(), conn.Conn(), canonical.DefaultParams(), canonical.Components()...); err != nil {
		t.Fatal(err)
	}
	to.exec(`TRUNCATE outbox.holdfast_schema, outbox.outbox_lane`)
	tables := []string{"holdfast_schema", "hold_operation", "hold_generation", "hold_receipt", "hold_audit", "outbox_relay", "outbox_batch",
		"outbox_retry", "outbox_requeued", "outbox_dead_letter", "outbox_dead_letter_history", "outbox_lane"}
	for _, table := range tables {
		copyRows(from, to, table, "")
	}
	if !byTransaction {
		copyRows(from, to, "event_outbox", "")
		return to
	}
	rows, err := from.pool.Query(t.Context(), "SELECT tx::text FROM outbox.event_outbox GROUP BY tx ORDER BY min(seq)")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[*string])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		where := "WHERE tx IS NULL"
		if id != nil {
			where = "WHERE tx = '" + *id + "'"
		}
		copyRows(from, to, "event_outbox", where)
	}
	return to
}

// copyRows copies the rows of one table through COPY.
func copyRows(from, to *store, table, where string) {
	to.t.Helper()
	columns := one[string](from, `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = ('outbox.' || $1)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`, table)
	source, err := from.pool.Acquire(to.t.Context())
	if err != nil {
		to.t.Fatal(err)
	}
	defer source.Release()
	var data bytes.Buffer
	sql := fmt.Sprintf("COPY (SELECT %s FROM outbox.%s %s) TO STDOUT", columns, table, where)
	if _, err := source.Conn().PgConn().CopyTo(to.t.Context(), &data, sql); err != nil {
		to.t.Fatalf("%s: %v", sql, err)
	}
	target, err := to.pool.Acquire(to.t.Context())
	if err != nil {
		to.t.Fatal(err)
	}
	defer target.Release()
	sql = fmt.Sprintf("COPY outbox.%s (%s) FROM STDIN", table, columns)
	if _, err := target.Conn().PgConn().CopyFrom(to.t.Context(), strings.NewReader(data.String()), sql); err != nil {
		to.t.Fatalf("%s: %v", sql, err)
	}
}

// burn uses up transaction ids, so that the next one is n at least.
func (s *store) burn(n int64) {
	s.t.Helper()
	const step = 5000
	for {
		next := one[int64](s, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
		if next >= n {
			return
		}
		// Not inside a transaction, so that the block can commit.
		s.exec(fmt.Sprintf("DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$", min(step, n-next)))
	}
}
