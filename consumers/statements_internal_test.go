package consumers

import (
	"reflect"
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
	all := reflect.ValueOf(newStatements("outbox"))
	for i := range all.NumField() {
		name, statement := all.Type().Field(i).Name, all.Field(i).String()
		if _, err := conn.Prepare(t.Context(), name, statement); err != nil {
			t.Errorf("prepare %s: %v\n%s", name, err, statement)
		}
	}
}
