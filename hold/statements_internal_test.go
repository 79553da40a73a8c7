package hold

import (
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, map[string]string{
		"register": standard.register, "release": standard.release, "cancel": standard.cancel, "state": standard.state,
		"list": standard.list, "events": standard.events, "drop event": standard.dropEvent,
		"overdue": standard.overdue, "compensation due": standard.compensationDue, "put off": standard.putOff,
		"receipts": standard.receipts, "quarantined": standard.quarantined, "compensation begin": standard.compensationBegin,
		"compensation end": standard.compensationEnd, "compensation finish": standard.compensationFinish,
		"event history": standard.eventHistory, "prune": standard.prune, "measure": standard.measure,
	})
}
