//go:build pooler

package gen_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestInstallAtOnceThroughAPooler: replicas that start together behind pgbouncer in transaction mode, where
// each transaction may get another session. One installs, the rest find it done, and no wreckage is left.
func TestInstallAtOnceThroughAPooler(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	pooler, err := harness.StartPooler(t.Context(), db.URL, harness.PoolerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Close(); err != nil {
			t.Error(err)
		}
	})
	through, err := pooler.URL(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(through)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // what pgbouncer needs before its version 1.21
	var replicas sync.WaitGroup
	for range 3 {
		replicas.Go(func() {
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(t.Context()) //nolint:errcheck // nothing depends on it
			if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Components()...); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{Components: canonical.Components()}))
	var invalid int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_index WHERE NOT (indisvalid AND indisready AND indislive)").Scan(&invalid); err != nil || invalid != 0 {
		t.Errorf("%d invalid indexes, %v", invalid, err)
	}
}
