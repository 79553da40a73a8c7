package hold

import (
	"testing"

	"github.com/jackc/pgx/v5"

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
	for name, statement := range map[string]string{
		"register": standard.register, "release": standard.release, "cancel": standard.cancel, "state": standard.state,
		"list": standard.list, "events": standard.events, "drop event": standard.dropEvent,
		"overdue": standard.overdue, "compensation due": standard.compensationDue, "put off": standard.putOff,
		"receipts": standard.receipts, "quarantined": standard.quarantined, "compensation begin": standard.compensationBegin,
		"compensation end": standard.compensationEnd, "compensation finish": standard.compensationFinish,
		"event history": standard.eventHistory, "prune": standard.prune, "measure": standard.measure,
	} {
		if _, err := conn.Prepare(t.Context(), name, statement); err != nil {
			t.Errorf("prepare %s: %v\n%s", name, err, statement)
		}
	}
}
