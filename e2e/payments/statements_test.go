package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEveryStatementPrepares finds a statement that does not fit the tables.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	makeTables(t, db.Pool)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	files, err := fs.Glob(os.DirFS("."), "*/sql/*.sql")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d statements: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Conn().Prepare(t.Context(), strings.ReplaceAll(file, "/", "_"), string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
