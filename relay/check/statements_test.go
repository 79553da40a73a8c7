package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// TestStatementsPrepare prepares every statement of the package on a migrated database.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), outboxtest.NewDatabase(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // ends with the test
	files, err := os.ReadDir("sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		if _, err := conn.Prepare(t.Context(), name, check.Statement(name, "outbox")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
