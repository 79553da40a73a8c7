package sweep

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Undo: Statements{}, Candidates: "SELECT '' AS id, true AS marked, now() AS made_at, '' AS entity_kind, '' AS entity_id"})
	if err != nil {
		t.Fatal(err)
	}
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, map[string]string{
		"session": s.session, "candidates": s.candidates, "walk": s.all, "page": s.page, "covered": s.covered, "active": s.active,
		"bounds": s.bounds, "transaction": s.transaction, "transaction end": s.transactionEnd,
	})
}
