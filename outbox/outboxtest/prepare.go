package outboxtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Prepare wants a database to understand every statement, and no template to be left in one. The
// statements have their names as keys.
func Prepare(t testing.TB, url string, statements map[string]string) {
	t.Helper()
	prepare(t, url, statements)
}

// PrepareTimeless is Prepare for statements that take no time as a parameter: the clock of a process
// can decide nothing then.
func PrepareTimeless(t testing.TB, url string, statements map[string]string) {
	t.Helper()
	for name, oids := range prepare(t, url, statements) {
		for i, oid := range oids {
			switch oid {
			case pgtype.TimestamptzOID, pgtype.TimestampOID, pgtype.DateOID, pgtype.TimeOID:
				t.Errorf("%s takes a time as $%d", name, i+1)
			}
		}
	}
}

// prepare returns the types of the parameters.
func prepare(t testing.TB, url string, statements map[string]string) map[string][]uint32 {
	t.Helper()
	if len(statements) == 0 {
		t.Fatalf("outboxtest: there is no statement to prepare")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Errorf("outboxtest: %v", err)
		}
	}()
	types := map[string][]uint32{}
	for name, sql := range statements {
		described, err := conn.Prepare(t.Context(), sql, sql)
		if err != nil || strings.Contains(sql, "{{") {
			t.Errorf("prepare %s: %v\n%s", name, err, sql)
			continue
		}
		types[name] = described.ParamOIDs
	}
	return types
}
