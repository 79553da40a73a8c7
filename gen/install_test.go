package gen_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestConcurrentInstalls: of many that install at once one does it, the others find it done,
// and what is there is what should be.
func TestConcurrentInstalls(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	var replicas errgroup.Group
	for range 10 {
		replicas.Go(func() error {
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				return err
			}
			defer conn.Close(t.Context())
			return gen.Install(t.Context(), conn, canonical.DefaultParams(), canonical.Components()...)
		})
	}
	if err := replicas.Wait(); err != nil {
		t.Fatal(err)
	}
	wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{Components: canonical.Components()}))
}
