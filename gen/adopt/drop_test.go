package adopt_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/gen/adopt"
)

func TestDrop(t *testing.T) {
	t.Parallel()
	opts := adopt.Options{Constants: source}
	db := old(t, flagTable)
	if _, err := adopt.LookToDrop(t.Context(), db.Pool, opts); err == nil {
		t.Error("a table that was not adopted may be dropped")
	}
	move(t, db, opts)
	if _, err := adopt.Look(t.Context(), db.Pool, opts); err == nil {
		t.Error("a table is adopted twice")
	}
	a, err := adopt.LookToDrop(t.Context(), db.Pool, adopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.DropMigration("orders")
	if err != nil {
		t.Fatal(err)
	}
	execute(t, db, "UPDATE outbox_events SET published_at = NULL WHERE id = 2")
	wantError(t, tryExecute(t.Context(), db, m.SQL), "these rows were not published: 2")
	if _, err := adopt.LookToDrop(t.Context(), db.Pool, opts); err == nil {
		t.Error("a table with an unpublished row may be dropped")
	}
	execute(t, db, "UPDATE outbox_events SET published_at = now(); ALTER TABLE outbox_events DISABLE TRIGGER holdfast_forward")
	wantError(t, tryExecute(t.Context(), db, m.SQL), "it has no trigger that forwards")
	execute(t, db, "ALTER TABLE outbox_events ENABLE ALWAYS TRIGGER holdfast_forward; CREATE VIEW needs AS SELECT id FROM outbox_events")
	wantError(t, tryExecute(t.Context(), db, m.SQL), "other objects depend on it")
	execute(t, db, "DROP VIEW needs")
	execute(t, db, m.SQL)
	left := lines(t, db, "SELECT relname::text FROM pg_class WHERE relname LIKE 'outbox_events%' UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE 'holdfast_forward%'")
	if left != nil {
		t.Errorf("it left %v", left)
	}
	if got := lines(t, db, "SELECT count(*)::text FROM outbox.event_outbox"); got[0] != "3" {
		t.Errorf("%s events are left", got[0])
	}
}
