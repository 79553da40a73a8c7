package saga

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEveryStatementPrepares, and takes no time from a process: the clock of a pod can decide nothing.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	outboxtest.PrepareTimeless(t, outboxtest.NewDatabase(t).URL, s.statements)
	if len(s.statements) < 25 {
		t.Errorf("%d statements", len(s.statements))
	}
}

// TestScansHaveTheirIndexes: what looks for due work in each tick reads no operation that has ended.
func TestScansHaveTheirIndexes(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	db := outboxtest.NewDatabase(t)
	for file, c := range map[string]struct {
		index string
		args  []any
	}{
		"due_compensation.sql": {"saga_operation_expired", []any{[]string{"k"}, time.Hour, 10}},
		"due_release.sql":      {"saga_operation_unreleased", []any{[]string{"k"}, 10}},
		"prune.sql":            {"saga_operation_finished", []any{time.Hour, 10}},
	} {
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SET LOCAL enable_seqscan = off`); err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), "EXPLAIN "+s.statements[file], c.args...)
			if err != nil {
				return err
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if text := strings.Join(plan, "\n"); !strings.Contains(text, c.index) {
				t.Errorf("%s does not read %s:\n%s", file, c.index, text)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
