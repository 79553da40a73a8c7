package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/check"
)

// TestStatementsPrepare prepares every statement of the package on a migrated database.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		texts[name] = check.Statement(name, "outbox")
	}
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, texts)
}
