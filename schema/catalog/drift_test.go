package catalog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// drift is one way in which a database can differ.
type drift struct {
	name string
	do   string // SQL that makes the difference
	// The differences that must be reported, each once, as "object: property".
	want    []string
	matters bool
	since   int // oldest version of Postgres that can do it; 0 for all
	before  int // first version that cannot; 0 for none
}

// TestDrift: each kind of difference is reported, once, with a statement that mends it.
func TestDrift(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		snapshot := snapshotOf(t, pool)
		scratch, err := catalog.Scratch(t.Context(), pool, canonical.DefaultParams(), every...)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range [][]drift{domainDrifts, tableDrifts, columnDrifts, constraintDrifts, indexDrifts, partitionDrifts, sequenceDrifts, routineDrifts, rightsDrifts} {
			for _, d := range kind {
				if snapshot.Major >= d.since && (d.before == 0 || snapshot.Major < d.before) {
					t.Run(d.name, func(t *testing.T) { d.check(t, pool, snapshot, scratch) })
				}
			}
		}
	})
}

// check makes the difference, finds it, mends it, and looks again, in a transaction that is
// rolled back.
func (d drift) check(t *testing.T, db catalog.DB, sources ...*catalog.Expected) {
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) // which is what it is for
	if err := execute(t.Context(), tx, d.do); err != nil {
		t.Fatalf("make the difference: %v", err)
	}
	var found []catalog.Difference
	for _, expected := range sources {
		found = differences(t, tx, expected)
		d.compare(t, found)
	}
	for _, difference := range found {
		t.Logf("%s\n%s", difference, difference.Mend)
		if err := execute(t.Context(), tx, difference.Mend); err != nil {
			t.Fatalf("mend %s: %v\n%s", difference, err, difference.Mend)
		}
	}
	for _, expected := range sources {
		wantClean(t, differences(t, tx, expected))
	}
}

func (d drift) compare(t *testing.T, found []catalog.Difference) {
	t.Helper()
	left := map[string]int{}
	for _, what := range d.want {
		left[what]++
	}
	for _, f := range found {
		what := f.Object.String() + ": " + f.Property
		left[what]--
		if left[what] < 0 {
			t.Errorf("not expected: %s\n%s", f, f.Mend)
		}
		if f.Matters != d.matters {
			t.Errorf("%s: matters is %v", f, f.Matters)
		}
		if f.Component == "" {
			t.Errorf("%s: has no component", f)
		}
	}
	for what, n := range left {
		if n > 0 {
			t.Errorf("not reported: %s", what)
		}
	}
}

// TestMendTogether: what many differences are mended by can be run in the order of the report.
func TestMendTogether(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		snapshot := snapshotOf(t, pool)
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			return execute(t.Context(), tx, `
				DROP TABLE outbox.hold_receipt CASCADE;
				DROP TABLE outbox.event_outbox CASCADE;
				DROP SEQUENCE outbox.event_outbox_seq CASCADE;
				DROP TABLE outbox.outbox_retry;
				ALTER TABLE outbox.outbox_lane DROP COLUMN drained;
				ALTER TABLE outbox.outbox_batch ADD COLUMN note text, DROP COLUMN stream;
				CREATE FUNCTION outbox.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
				CREATE TRIGGER note BEFORE INSERT ON outbox.outbox_batch FOR EACH ROW EXECUTE FUNCTION outbox.note();
				DROP FUNCTION outbox.uuid_v7();
				DROP FUNCTION outbox._hold_gate(uuid, integer);
				DROP INDEX outbox.hold_generation_active;`)
		})
		if err != nil {
			t.Fatal(err)
		}
		found := differences(t, pool, snapshot)
		err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			for _, d := range found {
				if err := execute(t.Context(), tx, d.Mend); err != nil {
					t.Errorf("mend %s: %v\n%s", d, err, d.Mend)
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantClean(t, differences(t, pool, snapshot))
		var lanes int
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox.outbox_lane").Scan(&lanes); err != nil || lanes != 16 {
			t.Errorf("%d lanes, %v", lanes, err)
		}
	})
}

// TestRebuild: everything can be made anew from what is expected, and is then what was
// expected, word for word. So a database that was dumped and restored is no drifted one.
func TestRebuild(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		snapshot := snapshotOf(t, pool)
		for _, what := range []struct{ kinds, drop string }{
			{"tables", "SELECT format('DROP TABLE outbox.%I CASCADE', relname) FROM pg_class WHERE relnamespace = 'outbox'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"},
			{"domains", "SELECT format('DROP DOMAIN %s CASCADE', oid::regtype) FROM pg_type WHERE typnamespace = 'outbox'::regnamespace AND typtype = 'd'"},
			{"sequences", "SELECT 'DROP SEQUENCE outbox.event_outbox_seq CASCADE'"},
			{"functions", "SELECT format('DROP FUNCTION %s CASCADE', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace"},
		} {
			rows, err := pool.Query(t.Context(), what.drop)
			if err != nil {
				t.Fatal(err)
			}
			drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				if err := execute(t.Context(), tx, strings.Join(drops, ";")); err != nil {
					return err
				}
				found := differences(t, tx, snapshot)
				if len(found) < len(drops) {
					t.Errorf("%s: %d differences, %d objects dropped", what.kinds, len(found), len(drops))
				}
				for _, d := range found {
					if err := execute(t.Context(), tx, d.Mend); err != nil {
						t.Errorf("mend %s:\n%s", d, d.Mend)
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", what.kinds, err)
			}
			wantClean(t, differences(t, pool, snapshot))
		}
	})
}

// TestMendKeepsRights: what must be made anew has the rights that it had.
func TestMendKeepsRights(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), every...)
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(t.Context()) // which is what it is for
		const shape = "DROP FUNCTION outbox.uuid_v7(); CREATE FUNCTION outbox.uuid_v7() RETURNS text LANGUAGE sql AS 'SELECT NULL';"
		const rights = `SELECT has_table_privilege('Mend reader', 'outbox.event_outbox_info', 'SELECT WITH GRANT OPTION'),
			has_function_privilege('Mend reader', 'outbox.uuid_v7()', 'EXECUTE')`
		err = execute(t.Context(), tx, `CREATE ROLE "Mend reader";`+dropInfo+"ALTER TABLE outbox.event_outbox ALTER COLUMN hold_generation TYPE bigint;"+createInfo+shape+`
			GRANT SELECT ON outbox.event_outbox_info TO "Mend reader" WITH GRANT OPTION; GRANT EXECUTE ON FUNCTION outbox.uuid_v7() TO "Mend reader"`)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences(t, tx, snapshotOf(t, tx)) {
			if err := execute(t.Context(), tx, d.Mend); err != nil {
				t.Fatalf("mend %s: %v\n%s", d, err, d.Mend)
			}
		}
		wantClean(t, differences(t, tx, snapshotOf(t, tx)))
		var view, function bool
		if err := tx.QueryRow(t.Context(), rights).Scan(&view, &function); err != nil || !view || !function {
			t.Errorf("rights on the view: %v, on the function: %v; %v", view, function, err)
		}
	})
}

// TestStrangers: what others keep in the same database schema is none of our business.
func TestStrangers(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		pool := s.Pool(t)
		install(t, pool, canonical.DefaultParams(), canonical.Relay, canonical.Consumer)
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			return execute(t.Context(), tx, `
				CREATE TABLE public.refund (fact_id bigint NOT NULL UNIQUE REFERENCES outbox.consumer_fact (id));
				CREATE TABLE outbox.orders (id bigint PRIMARY KEY, of bigint REFERENCES outbox.orders) WITH (fillfactor = 50);
				CREATE TABLE outbox.event_outbox_9 (id bigint);
				CREATE VIEW outbox.recent AS SELECT * FROM outbox.event_outbox;
				CREATE SEQUENCE outbox.order_number;
				CREATE TYPE outbox.mood AS ENUM ('good', 'bad');
				CREATE FUNCTION outbox.publish_order(id bigint) RETURNS void LANGUAGE sql AS 'SELECT';
				CREATE ROLE "Some body" NOLOGIN;
				GRANT SELECT ON outbox.event_outbox TO "Some body";
				COMMENT ON TABLE outbox.event_outbox IS 'ours';
				DROP ROLE IF EXISTS nobody;`)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := pool.Exec(context.Background(), `DROP OWNED BY "Some body"; DROP ROLE "Some body"`); err != nil {
				t.Error(err)
			}
		})
		live, err := catalog.Read(t.Context(), pool, "outbox")
		if err != nil {
			t.Fatal(err)
		}
		expected, err := catalog.Snapshot(live.Major, canonical.DefaultParams(), canonical.Relay, canonical.Consumer)
		if err != nil {
			t.Fatal(err)
		}
		wantClean(t, catalog.Compare(expected, live))
	})
}
