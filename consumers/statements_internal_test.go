package consumers

import (
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	all := reflect.ValueOf(newStatements("outbox"))
	for i := range all.NumField() {
		texts[all.Type().Field(i).Name] = all.Field(i).String()
	}
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, texts)
}
