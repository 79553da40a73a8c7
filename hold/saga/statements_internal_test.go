package saga

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEveryStatementPrepares, and takes no time from a process: the clock of a pod can decide nothing.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), outboxtest.NewDatabase(t).URL)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for name, statement := range s.statements {
		described, err := conn.Prepare(t.Context(), name, statement)
		if err != nil {
			t.Errorf("prepare %s: %v\n%s", name, err, statement)
			continue
		}
		for i, oid := range described.ParamOIDs {
			switch oid {
			case pgtype.TimestamptzOID, pgtype.TimestampOID, pgtype.DateOID, pgtype.TimeOID:
				t.Errorf("%s takes a time as $%d", name, i+1)
			}
		}
	}
	if len(s.statements) < 25 {
		t.Errorf("%d statements", len(s.statements))
	}
}
