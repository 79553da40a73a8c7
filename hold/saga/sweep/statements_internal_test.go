package sweep

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Undo: Statements{}, Candidates: "SELECT '' AS id, true AS marked, now() AS made_at, '' AS entity_kind, '' AS entity_id"})
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
	for name, statement := range map[string]string{
		"session": s.session, "candidates": s.candidates, "walk": s.all, "page": s.page, "covered": s.covered, "active": s.active,
		"bounds": s.bounds, "transaction": s.transaction, "transaction end": s.transactionEnd,
	} {
		if _, err := conn.Prepare(t.Context(), name, statement); err != nil {
			t.Errorf("prepare %s: %v\n%s", name, err, statement)
		}
	}
}
