package reconcile_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/reconcile"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestRelayRole: comparing and repairing need the rights of a relay, and no more.
func TestRelayRole(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", 20)
	s.drain()
	s.delete(s.messages()[5:9]...)
	s.put() // waits for the window
	role := s.db.Name + "_relay"
	sql, err := gen.Roles(canonical.DefaultParams(), gen.RoleNames{canonical.Drainer: role})
	if err != nil {
		t.Fatal(err)
	}
	s.exec(sql)
	s.exec("ALTER ROLE " + role + " LOGIN")
	u, err := url.Parse(s.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	pool := outboxtest.NewPool(t, u.String())
	r, err := reconcile.Run(t.Context(), pool, s.nc, reconcile.Config{Relay: s.config(), Repair: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&reconcile.Repair{Published: 4}, r.Repair); diff != "" {
		t.Errorf("repair (-want +got):\n%s", diff)
	}
}
