package shop_test

import (
	"embed"
	"testing"
)

//go:embed sql/*.sql
var statements embed.FS

// TestEveryStatementPrepares finds a statement that does not fit the tables.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	conn := open(t)
	files, err := statements.ReadDir("sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d statements: %v", len(files), err)
	}
	for _, file := range files {
		text, err := statements.ReadFile("sql/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Conn().Prepare(t.Context(), file.Name(), string(text)); err != nil {
			t.Errorf("%s: %v", file.Name(), err)
		}
	}
}
