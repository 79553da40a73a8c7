package gen_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change string
		opts   gen.VerifyOptions
		want   []string // "object: property", in order
		last   bool     // whether mending ends with a clean database
	}{
		{name: "nothing", change: "SELECT 1", last: true},
		{name: "from a snapshot", change: "SELECT 1", opts: gen.VerifyOptions{Source: catalog.FromSnapshot}, last: true},
		{name: "catalog", change: "ALTER SEQUENCE outbox.event_outbox_seq CACHE 20", want: []string{"sequence event_outbox_seq: cache"}, last: true},
		{name: "checksum", change: "UPDATE outbox.holdfast_schema SET checksum = repeat('a', 64) WHERE component = 'hold'",
			want: []string{"component hold: checksum"}, last: true},
		{name: "the ledger says so and the catalog not", change: "ALTER TABLE outbox.outbox_batch RENAME COLUMN stream TO stream_name",
			want: []string{"column outbox_batch.stream: existence"}, last: true},
		{name: "parameters", change: "SELECT 1", opts: gen.VerifyOptions{Params: canonical.Params{MaxEventBytes: 2048}},
			want: []string{
				"domain event_outbox_data: check event_outbox_data",
				"function _stage_one(uuid, integer, text, text, bytea, text, text, text, text, text, text, text): body",
				"component outbox: parameters", "component hold: parameters", "component relay: parameters", "component consumer: parameters", "component saga: parameters",
			}, last: true},
		{name: "older", change: "UPDATE outbox.holdfast_schema SET version = 99 WHERE component = 'relay'", want: []string{"component relay: version"}},
		{name: "component missing", change: "DELETE FROM outbox.holdfast_schema WHERE component = 'relay'",
			opts: gen.VerifyOptions{Components: []canonical.Component{canonical.Relay}}, want: []string{"component relay: version"}},
		{name: "component not asked for", change: "DELETE FROM outbox.holdfast_schema WHERE component = 'relay'; ALTER TABLE outbox.outbox_batch DROP COLUMN stream", last: true},
		{name: "nothing installed", change: "DROP SCHEMA outbox CASCADE", want: []string{"component outbox: version"}},
		{name: "another cluster", change: "UPDATE outbox.holdfast_schema SET system_identifier = 42 WHERE component = 'outbox'",
			want: []string{"component outbox: system identifier"}},
		{name: "role missing", change: "SELECT 1", opts: gen.VerifyOptions{Roles: map[canonical.Role]string{canonical.Drainer: "verify nobody"}},
			want: []string{"role verify nobody: existence"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewDatabase(t)
			if _, err := db.Pool.Exec(t.Context(), c.change); err != nil {
				t.Fatal(err)
			}
			v := verify(t, db.Pool, c.opts)
			wantDifferences(t, v, c.want...)
			if v.Matters() != (c.want != nil) {
				t.Errorf("matters: %v", v.Matters())
			}
			if !c.last {
				return
			}
			for _, d := range v.Differences {
				if _, err := db.Pool.Exec(t.Context(), d.Mend, pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Fatalf("mend %s: %v", d, err)
				}
			}
			wantDifferences(t, verify(t, db.Pool, c.opts))
		})
	}
}

// TestVerifyWithoutRights: a role that may not create a schema compares with the snapshot, and
// one that may do nothing is told what it lacks.
func TestVerifyWithoutRights(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if v := verify(t, db.Pool, gen.VerifyOptions{}); v.Source != catalog.FromScratch {
		t.Errorf("the superuser compared with the %s", v.Source)
	}
	if _, err := db.Pool.Exec(t.Context(), "CREATE ROLE verify_reader LOGIN; CREATE ROLE verify_stranger LOGIN; GRANT USAGE ON SCHEMA outbox TO verify_reader; GRANT SELECT ON outbox.holdfast_schema TO verify_reader"); err != nil {
		t.Fatal(err)
	}
	reader := connectAs(t, db, "verify_reader")
	v := verify(t, reader, gen.VerifyOptions{})
	if wantDifferences(t, v); v.Source != catalog.FromSnapshot {
		t.Errorf("the reader compared with the %s", v.Source)
	}
	if _, err := gen.Verify(t.Context(), connectAs(t, db, "verify_stranger"), gen.VerifyOptions{}); err == nil {
		t.Error("a stranger got an answer")
	}
	// A standby, and whoever may only read, can compare too.
	tx, err := db.Pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) // nothing was written
	if v := verify(t, tx, gen.VerifyOptions{}); v.Source != catalog.FromSnapshot {
		t.Errorf("in a read-only transaction it compared with the %s", v.Source)
	}
}

func TestVerifyRecordedParameters(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	params := canonical.Params{Schema: "events", Lanes: 5, Slots: 7, Period: 90 * time.Minute, MaxEventBytes: 2048}
	err := db.Pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		return gen.Install(t.Context(), conn.Conn(), params, canonical.Relay)
	})
	if err != nil {
		t.Fatal(err)
	}
	v := verify(t, db.Pool, gen.VerifyOptions{Schema: "events"})
	wantDifferences(t, v)
	if diff := cmp.Diff(params, v.Params); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]canonical.Component{canonical.Outbox, canonical.Relay}, v.Components); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
}

func verify(t *testing.T, db gen.Database, opts gen.VerifyOptions) *gen.Verified {
	t.Helper()
	v, err := gen.Verify(t.Context(), db, opts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantDifferences(t *testing.T, v *gen.Verified, want ...string) {
	t.Helper()
	var got []string
	for _, d := range v.Differences {
		got = append(got, d.Object.String()+": "+d.Property)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func connectAs(t *testing.T, db *outboxtest.Database, role string) *pgxpool.Pool {
	t.Helper()
	return outboxtest.NewPool(t, db.URL, func(c *pgxpool.Config) { c.ConnConfig.User = role })
}
