package hold_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// auditRow is a row of hold_audit; an absent text is empty.
type auditRow struct {
	Generation     int
	Action         string
	Actor, Reason  string
	Before, After  string
	Events         int64
	AtDecisionTime bool // within the second of the generation's decision
}

func (b *testBundle) audit(t testing.TB) []auditRow {
	t.Helper()
	rows, err := b.Pool.Query(t.Context(), `
		SELECT a.generation, action, actor, coalesce(a.reason, ''), coalesce(state_before, ''), coalesce(state_after, ''), events,
		       abs(extract(epoch FROM a.at - coalesce(g.decided_at, g.registered_at))) < 1
		  FROM outbox.hold_audit a LEFT JOIN outbox.hold_generation g USING (operation_id, generation)
		 WHERE a.operation_id = $1 ORDER BY a.id`, b.hold.Operation)
	if err != nil {
		t.Fatalf("read audit: %v", err)
	}
	audit, err := pgx.CollectRows(rows, pgx.RowToStructByPos[auditRow])
	if err != nil {
		t.Fatalf("read audit: %v", err)
	}
	return audit
}

func (b *testBundle) auditActions(t testing.TB) []string {
	t.Helper()
	var actions []string
	for _, row := range b.audit(t) {
		actions = append(actions, row.Action)
	}
	return actions
}

func TestEveryChangeIsCountedAndAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	must := func(_ hold.Answer, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(hold.Register(ctx, b.Pool, b.generation(1), "coordinator"))
	b.stage(t, b.Pool, b.generation(1), names("a", 3)...)
	must(hold.Cancel(ctx, b.Pool, b.generation(1), "reconciler", hold.Because("lease expired")))
	must(hold.Register(ctx, b.Pool, b.generation(2), "coordinator"))
	b.stage(t, b.Pool, b.generation(2), names("b", 2)...)
	must(hold.Drop(ctx, b.Pool, b.generation(2), "owner"))
	must(hold.Register(ctx, b.Pool, b.generation(3), "coordinator"))
	b.stage(t, b.Pool, b.generation(3), names("c", 4)...)
	must(hold.Release(ctx, b.Pool, b.generation(3), "coordinator", hold.Because("")))
	must(hold.Cancel(ctx, b.Pool, b.generation(4), "reconciler"))

	want := []auditRow{
		{1, "register", "coordinator", "", "", "active", 0, true},
		{1, "cancel", "reconciler", "lease expired", "active", "cancelled", 3, true},
		{2, "register", "coordinator", "", "", "active", 0, true},
		{2, "drop", "owner", "", "active", "cancelled", 2, true},
		{3, "register", "coordinator", "", "", "active", 0, true},
		{3, "release", "coordinator", "", "active", "released", 4, true},
		{4, "cancel", "reconciler", "", "", "cancelled", 0, true},
	}
	if diff := cmp.Diff(want, b.audit(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	counts := column[[]int64](t, b.Pool, `SELECT ARRAY[generation, held_count, released_count, dropped_count]
		FROM outbox.hold_generation WHERE operation_id = $1 ORDER BY generation`, b.hold.Operation)
	if diff := cmp.Diff([][]int64{{1, 3, 0, 3}, {2, 2, 0, 2}, {3, 4, 4, 0}, {4, 0, 0, 0}}, counts); diff != "" {
		t.Errorf("generation, held, released, dropped (-want +got):\n%s", diff)
	}
}

// A refused call changes nothing, so it leaves no trace either.
func TestRefusedCallsAreNotAudited(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatal(err)
	}
	_, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationReleased, b.hold, "released")
	_, err = hold.Release(t.Context(), b.Pool, b.generation(2), "test")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.generation(2), "unknown")
	if diff := cmp.Diff([]string{"register", "release"}, b.auditActions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestAuditCannotBeChanged(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	for _, statement := range []string{
		`UPDATE outbox.hold_audit SET actor = 'nobody'`,
		`DELETE FROM outbox.hold_audit`,
		`TRUNCATE outbox.hold_audit`,
	} {
		_, err := b.Pool.Exec(t.Context(), statement)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "HF019" {
			t.Errorf("%s: error is %v, want SQLSTATE HF019", statement, err)
		}
	}
}
