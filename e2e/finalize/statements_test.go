package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEveryStatementPrepares finds a statement that does not fit the tables.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	reapable := s.replica().Store().NotReapable("d.id")
	for folder, db := range map[string]*outboxtest.Database{"intake": s.intake, "registry": s.registry} {
		files, err := filepath.Glob(filepath.Join(folder, "sql", "*.sql"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d statements: %v", folder, len(files), err)
		}
		conn, err := db.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			whole := strings.ReplaceAll(string(text), "{{.NotReapable}}", reapable)
			if _, err := conn.Conn().Prepare(t.Context(), file, whole); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
