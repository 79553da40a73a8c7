package retention_test

import (
	"net/url"
	"testing"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/retention"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestRights: who looks after retention can do all of it and cannot empty a slot by hand; who may
// look cannot get at the lease; a producer can do neither.
func TestRights(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	names := gen.RoleNames{}
	for _, role := range canonical.Roles() {
		names[role] = s.db.Name + "_" + string(role)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		t.Fatal(err)
	}
	s.exec(sql)
	slot := s.old()
	for _, role := range canonical.Roles() {
		login := s.db.Name + "_login_" + string(role)
		s.exec("CREATE ROLE " + login + " LOGIN IN ROLE " + names[role])
		u, err := url.Parse(s.db.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(login)
		pool := s.pool(u.String())
		keeps := role == canonical.Drainer || role == canonical.Maintainer
		mayLook := role != canonical.Producer && role != canonical.Claimer && role != canonical.Coordinator

		_, err = retention.Look(t.Context(), pool, "outbox", 0)
		if mayLook != (err == nil) || !mayLook && (sqlState(err) != "42501" || outbox.Hint(err) == "") {
			t.Errorf("%s looks: %v", role, err)
		}
		if keeps {
			s.hold(s.register(), 3)
			s.exec("UPDATE outbox.event_outbox SET slot = $1, staged_at = clock_timestamp() - interval '3 days' WHERE tx IS NULL", slot)
			s.fill(slot, 5, 3)
			s.settle()
			k, err := retention.New(pool, retention.Config{Owner: string(role)})
			if err != nil {
				t.Fatal(err)
			}
			s.k = k
			s.empties(slot)
		}
		for _, forbidden := range []string{
			"TRUNCATE outbox.event_outbox_1", "DELETE FROM outbox.event_outbox", "DELETE FROM outbox.hold_audit", "DELETE FROM outbox.outbox_dead_letter_history",
			"SELECT outbox._retention_move(1::smallint, 1)", "SELECT outbox._retention_judge(1::smallint, interval '0')",
		} {
			if _, err := pool.Exec(t.Context(), forbidden); sqlState(err) != "42501" {
				t.Errorf("%s: %s: %v", role, forbidden, err)
			}
		}
		for _, kept := range []string{
			"SELECT outcome FROM outbox.retention_rotate(gen_random_uuid(), 1)", "SELECT lease_token FROM outbox.outbox_maintenance",
			"SELECT batches FROM outbox.retention_prune(gen_random_uuid(), interval '1 day', interval '1 day')",
			"UPDATE outbox.outbox_maintenance SET lease_until = NULL WHERE false",
		} {
			if _, err := pool.Exec(t.Context(), kept); keeps != (err == nil) || !keeps && sqlState(err) != "42501" {
				t.Errorf("%s: %s: %v", role, kept, err)
			}
		}
	}
}
