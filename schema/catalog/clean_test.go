package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestCorrectDatabase: nothing is reported on a database as the canonical files made it, on
// every version, with any parameters, by either source of what is expected.
func TestCorrectDatabase(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		for _, params := range []canonical.Params{
			{Schema: "outbox"},
			{Schema: "events", Lanes: 3, Slots: 7, Period: time.Hour, MaxEventBytes: 5000},
			{Schema: "_5", Lanes: 256, Slots: 32, Period: time.Minute, MaxEventBytes: 64_000_000},
			{Schema: "public", Lanes: 1, Slots: 3},
		} {
			t.Run(params.Schema, func(t *testing.T) {
				t.Parallel()
				pool := s.Pool(t)
				install(t, pool, params, every...)
				scratch, err := catalog.Scratch(t.Context(), pool, params, every...)
				if err != nil {
					t.Fatal(err)
				}
				wantClean(t, differences(t, pool, scratch))
				for _, c := range every {
					snapshot, err := catalog.Snapshot(scratch.Major, params, c)
					if err != nil {
						t.Fatal(err)
					}
					wantClean(t, differences(t, pool, snapshot))
				}
			})
		}
	})
}

// TestOtherParameters: what follows from the parameters is compared with those that the
// caller says, and each thing that follows from one is told once.
func TestOtherParameters(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.Params{Lanes: 8, MaxEventBytes: 4096}, every...)
		expected, err := catalog.Scratch(t.Context(), pool, canonical.DefaultParams(), every...)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{
			"column event_outbox.lane: generated":                 true,
			"domain event_outbox_data: check event_outbox_data":   true,
			stageOne + ": body":                                   true,
			"function _retention_dated(smallint): body":           true,
			"function _retention_judge(smallint, interval): body": true,
		}
		for _, d := range differences(t, pool, expected) {
			if what := d.Object.String() + ": " + d.Property; !want[what] || !d.Matters {
				t.Errorf("not expected: %s", d)
			} else {
				delete(want, what)
			}
		}
		for what := range want {
			t.Errorf("not reported: %s", what)
		}
	})
}

const stageOne = "function _stage_one(uuid, integer, text, text, bytea, text, text, text, text, text, text, text)"

// TestSessionSettings: what a session or a role has set does not change what is read.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		name, url := s.Database(t, "")
		pool := catalog.Connect(t, url)
		install(t, pool, canonical.DefaultParams(), every...)
		for _, setting := range []string{
			"search_path = outbox, public", "timezone = 'Asia/Kathmandu'", "datestyle = 'SQL, DMY'", "quote_all_identifiers = on",
			"standard_conforming_strings = off", "intervalstyle = 'sql_standard'", "bytea_output = 'escape'", "extra_float_digits = -5",
			"default_transaction_isolation = 'serializable'", "default_transaction_read_only = on",
		} {
			if _, err := pool.Exec(t.Context(), "SET default_transaction_read_only = off; ALTER DATABASE "+name+" SET "+setting); err != nil {
				t.Fatal(err)
			}
		}
		pool = catalog.Connect(t, url)
		snapshot := snapshotOf(t, pool)
		wantClean(t, differences(t, pool, snapshot))
	})
}

// snapshotOf returns what is expected of a database with every component.
func snapshotOf(t testing.TB, db catalog.DB) *catalog.Expected {
	t.Helper()
	live, err := catalog.Read(t.Context(), db, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := catalog.Snapshot(live.Major, canonical.DefaultParams(), every...)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// TestTransactionBegunByHand: reading on a connection in a transaction that pgx does not know
// of leaves that transaction alone.
func TestTransactionBegunByHand(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		err := pool.AcquireFunc(t.Context(), func(c *pgxpool.Conn) error {
			conn := c.Conn()
			if _, err := conn.Exec(t.Context(), "BEGIN; CREATE TABLE kept (); SET LOCAL timezone = 'Asia/Tokyo'"); err != nil {
				return err
			}
			snapshot := snapshotOf(t, conn)
			wantClean(t, differences(t, conn, snapshot))
			scratch, err := catalog.Expect(t.Context(), conn, snapshot.Major, snapshot.Params, every...)
			if err != nil || scratch.Source != catalog.FromScratch {
				t.Errorf("expected from %v, %v", scratch, err)
			}
			var zone string
			if err := conn.QueryRow(t.Context(), "SELECT current_setting('timezone')").Scan(&zone); err != nil || zone != "Asia/Tokyo" {
				t.Errorf("the time zone is %s, %v", zone, err)
			}
			_, err = conn.Exec(t.Context(), "COMMIT; DROP TABLE kept")
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestUnknownMajor: a version that no snapshot was made for is an error that says what to do.
func TestUnknownMajor(t *testing.T) {
	t.Parallel()
	_, err := catalog.Snapshot(99, canonical.DefaultParams(), canonical.Outbox)
	var unknown *catalog.UnknownMajorError
	if !errors.As(err, &unknown) || unknown.Supported() != "Postgres 14 to 18" || !strings.Contains(unknown.Hint(), "outbox-gen verify") {
		t.Errorf("error is %v", err)
	}
}
