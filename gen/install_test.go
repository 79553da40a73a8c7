package gen_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestConcurrentInstalls: of many that install at once one does it, the others find it done,
// and what is there is what should be.
func TestConcurrentInstalls(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	var replicas sync.WaitGroup
	for range 10 {
		replicas.Go(func() {
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(t.Context())
			if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Components()...); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{Components: canonical.Components()}))
}
