package gen_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestComponentInstallsAlone: the database of a consumer or a coordinator needs no log. One that comes
// later, or that was there before, lies beside it, and all of it is as the canonical schema has it.
func TestComponentInstallsAlone(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][]canonical.Component{
		"consumer":                           {{canonical.Consumer}},
		"consumer, and a log comes later":    {{canonical.Consumer}, {canonical.Outbox, canonical.Consumer}},
		"consumer beside a log":              {{canonical.Outbox, canonical.Relay}, {canonical.Consumer}},
		"coordinator":                        {{canonical.Saga}},
		"coordinator, and a log comes later": {{canonical.Saga}, {canonical.Outbox, canonical.Saga}},
		"coordinator beside a consumer":      {{canonical.Consumer}, {canonical.Saga}},
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
			if _, err := outbox.Verify(t.Context(), db.Pool, "", steps[len(steps)-1]...); err != nil {
				t.Error(err)
			}
		})
	}
}
