package gen_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestSagaInstallsAlone: a coordinator's database needs no log. One that comes later, or that was
// there before, lies beside it, and all of it is as the canonical schema has it.
func TestSagaInstallsAlone(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][]canonical.Component{
		"alone":             {{canonical.Saga}},
		"a log comes later": {{canonical.Saga}, {canonical.Outbox, canonical.Saga}},
		"beside a consumer": {{canonical.Consumer}, {canonical.Saga}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := outboxtest.NewEmptyDatabase(t)
			conn, err := pgx.Connect(t.Context(), db.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
			for _, components := range steps {
				if err := gen.Install(t.Context(), conn, canonical.DefaultParams(), components...); err != nil {
					t.Fatal(err)
				}
			}
			wantDifferences(t, verify(t, db.Pool, gen.VerifyOptions{}))
			if _, err := outbox.Verify(t.Context(), db.Pool, "", canonical.Saga); err != nil {
				t.Error(err)
			}
		})
	}
}
