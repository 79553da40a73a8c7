package hold_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Things are the business rows of the tests: made in the transaction of their event.

func (b *testBundle) createThings(t testing.TB) {
	t.Helper()
	if _, err := b.Pool.Exec(t.Context(), `CREATE TABLE thing (operation uuid, name text)`); err != nil {
		t.Fatalf("create things: %v", err)
	}
}

// makeThing passes the gate first and then writes, as every held write should.
func (b *testBundle) makeThing(t testing.TB, name string) func(pgx.Tx) error {
	return func(tx pgx.Tx) error {
		if err := stage(t.Context(), tx, b.hold, name); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `INSERT INTO thing VALUES ($1, $2)`, b.hold.Operation, name)
		return err
	}
}

func (b *testBundle) things(t testing.TB) []string {
	t.Helper()
	return column[string](t, b.Pool, `SELECT name FROM thing WHERE operation = $1 ORDER BY name`, b.hold.Operation)
}
