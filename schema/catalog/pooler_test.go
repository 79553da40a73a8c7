//go:build pooler

package catalog_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/schema/canonical"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// TestThroughPooler: behind pgbouncer in transaction mode, where every transaction may get
// another session, many readers find nothing and leave nothing behind. It has a build tag,
// because pgbouncer must be installed: test-pooler.sh sees to it.
func TestThroughPooler(t *testing.T) {
	t.Parallel()
	catalog.ForEachServer(t, func(t *testing.T, s catalog.Server) {
		name, direct := s.Database(t, "")
		install(t, catalog.Connect(t, direct), canonical.DefaultParams(), every...)
		config, err := pgxpool.ParseConfig(startPooler(t, direct))
		if err != nil {
			t.Fatal(err)
		}
		config.ConnConfig.Database = name
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // what pgbouncer needs before its version 1.21
		config.MaxConns = 20
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		snapshot := snapshotOf(t, pool)
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				for range 5 {
					live, err := catalog.Read(t.Context(), pool, "outbox")
					if err != nil {
						t.Error(err)
						return
					}
					wantClean(t, catalog.Compare(snapshot, live))
				}
			})
		}
		readers.Wait()
		scratch, err := catalog.Scratch(t.Context(), pool, canonical.DefaultParams(), every...)
		if err != nil {
			t.Fatal(err)
		}
		wantClean(t, differences(t, pool, scratch))
		const left = `SELECT concat_ws(', ', nullif(current_setting('search_path'), '"$user", public'), nullif(current_setting('jit'), 'on'),
			nullif(current_setting('transaction_read_only'), 'off'), nullif(current_setting('transaction_isolation'), 'read committed'))`
		for range 20 {
			var settings string
			if err := pool.QueryRow(t.Context(), left).Scan(&settings); err != nil || settings != "" {
				t.Errorf("left in a session: %s, %v", settings, err)
			}
		}
	})
}

// startPooler starts pgbouncer in front of a server and returns its URL.
func startPooler(t *testing.T, server string) string {
	t.Helper()
	pooler, err := harness.StartPooler(t.Context(), server, harness.PoolerOptions{Settings: map[string]string{"default_pool_size": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pooler.Close(); err != nil {
			t.Error(err)
		}
	})
	through, err := pooler.URL(server)
	if err != nil {
		t.Fatal(err)
	}
	return through
}
