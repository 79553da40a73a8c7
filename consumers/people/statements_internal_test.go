package people

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), outboxtest.NewDatabase(t).URL)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for name, sql := range statement.Read(files, "outbox") {
		if _, err := conn.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("prepare %s: %v\n%s", name, err, sql)
		}
	}
}
