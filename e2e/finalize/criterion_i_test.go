package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/finalize/registry"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestCriterionI: what the flow left behind before there were receipts is found and erased, by ids alone, and
// nothing else is: no live operation, no application's, nobody else's.
func TestCriterionI(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := s.replica()
	filed := s.draft()
	r.want(filed, http.StatusOK)
	s.abandoned(r, "member:0") // alive: its lease may still be stolen
	if got := s.call(http.MethodPost, "/v1/households", `{"data":{"address":"SECRET-Hill"}}`); got.status != http.StatusOK {
		t.Fatalf("answer is %s", got)
	}
	// Of the time before: no receipt. One has an application, one lacks the mark of the flow.
	orphan, another, owned, unmarked := s.oldHousehold(true), s.oldHousehold(true), s.oldHousehold(true), s.oldHousehold(false)
	s.exec(s.intake, `INSERT INTO application VALUES (gen_random_uuid(), $1, '2020-01-01', '2020-01-01', true)`, owned)
	s.exec(s.registry, `INSERT INTO owned_household SELECT unnest($1::uuid[])`, list[uuid.UUID](s, s.intake, `SELECT household_id FROM application`))
	const intact = `SELECT e.id FROM entity e JOIN fact f ON f.entity_id = e.id JOIN fact_key k ON k.id = f.key_id WHERE e.active AND k.secret IS NOT NULL ORDER BY e.id`
	before := list[uuid.UUID](s, s.registry, intact)

	operator, orphans := s.sweeper()
	m, err := orphans.Plan(t.Context(), operator)
	if err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results")
	report, err := orphans.Apply(t.Context(), operator, m, sweep.Application{
		Order: sweep.Order{Actor: "alice", Reason: "left from before receipts"}, Seal: m.Seal(), Results: results})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]sweep.Outcome{}
	for _, result := range report.Results {
		got[result.ID] = result.Outcome
	}
	want := map[string]sweep.Outcome{orphan.String(): sweep.Undone, another.String(): sweep.Undone, unmarked.String(): sweep.Quarantined}
	if diff := cmp.Diff(want, got); diff != "" || m.Covered != 1 || m.Young != 1 {
		t.Errorf("%d have a receipt, %d are young; outcomes (-want +got):\n%s", m.Covered, m.Young, diff)
	}
	// Three entities each are erased: the household, a person and the membership. All others are as they were.
	erased := list[uuid.UUID](s, s.registry, `SELECT id FROM entity WHERE NOT active AND (id = ANY ($1) OR household_id = ANY ($1)
		OR id IN (SELECT person_id FROM entity WHERE household_id = ANY ($1)))`, []uuid.UUID{orphan, another})
	left := slices.DeleteFunc(before, func(id uuid.UUID) bool { return slices.Contains(erased, id) })
	if diff := cmp.Diff(left, list[uuid.UUID](s, s.registry, intact)); diff != "" || len(erased) != 6 {
		t.Errorf("%d are erased, want 6; intact (-want +got):\n%s", len(erased), diff)
	}
	text, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprintf("%+v", m)+string(text)+s.log.String(), "SECRET") {
		t.Error("personal data was told")
	}
}

// oldHousehold is one with a member, as the flow made it before there were receipts, or as somebody else did.
func (s *stack) oldHousehold(marked bool) uuid.UUID {
	s.t.Helper()
	household, person := uuid.New(), uuid.New()
	var operation *uuid.UUID
	var generation *int
	if marked {
		id, first := uuid.New(), 1
		operation, generation = &id, &first
	}
	s.exec(s.registry, `WITH made AS (
		INSERT INTO entity (id, kind, household_id, person_id, operation_id, generation)
		VALUES ($1, 'household', NULL, NULL, $3, $4), ($2, 'person', NULL, NULL, $3, $4), (gen_random_uuid(), 'membership', $1, $2, $3, $4) RETURNING id
	), key AS (
		INSERT INTO fact_key (id, secret) SELECT id, sha256(id::text::bytea) FROM made
	)
	INSERT INTO fact (entity_id, number, key_id, sealed, operation_id, generation, recorded_at)
	SELECT id, 1, id, 'SECRET', $3, $4, now() - interval '1 year' FROM made`, household, person, operation, generation)
	return household
}

// sweeper is the sweep of the registry, and a login of its own for it.
func (s *stack) sweeper() (*pgxpool.Pool, *sweep.Sweep) {
	s.t.Helper()
	names := gen.RoleNames{}
	for _, r := range canonical.Roles() {
		names[r] = s.registry.Name + "_" + string(r)
	}
	roles, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		s.t.Fatal(err)
	}
	login := s.registry.Name + "_sweeper"
	s.exec(s.registry, roles)
	s.exec(s.registry, `CREATE ROLE `+login+` LOGIN IN ROLE `+names[canonical.Operator]+`;
		GRANT SELECT, UPDATE ON entity, fact_key TO `+login+`; GRANT SELECT ON fact, owned_household TO `+login)
	u, err := url.Parse(s.registry.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	u.User = url.User(login)
	pool := outboxtest.NewPool(s.t, u.String())
	orphans, err := registry.Orphans()
	if err != nil {
		s.t.Fatal(err)
	}
	return pool, orphans
}
