package receipt

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, map[string]string{"begin": standard.begin, "complete": standard.complete})
}
