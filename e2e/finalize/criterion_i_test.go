package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestCriterionI: what the flow left behind before there were receipts can be named, by ids alone, and
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
	// Of the time before: the mark of the flow, and no receipt. One has an application.
	var old []uuid.UUID
	for range 3 {
		id := uuid.New()
		old = append(old, id)
		s.exec(s.registry, `INSERT INTO entity (id, kind, operation_id, generation) VALUES ($1, 'household', gen_random_uuid(), 1)`, id)
	}
	s.exec(s.intake, `INSERT INTO application VALUES (gen_random_uuid(), $1, '2020-01-01', '2020-01-01', true)`, old[2])

	owned := list[uuid.UUID](s, s.intake, `SELECT household_id FROM application`)
	found, err := s.records.Orphans(t.Context(), owned)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.SortedFunc(slices.Values(old[:2]), func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	if !slices.Equal(found, want) {
		t.Errorf("orphans are %v, want %v", found, want)
	}
	if strings.Contains(fmt.Sprint(found)+s.log.String(), "SECRET") {
		t.Error("personal data was told")
	}
}
