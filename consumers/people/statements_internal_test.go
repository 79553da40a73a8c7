package people

import (
	"testing"

	"github.com/holdfast-dev/holdfast/consumers/internal/statement"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, statement.Read(files, "outbox"))
}
