package facts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

var told = facts.Told{Source: "/shop", ID: "event-1"}

func database(t *testing.T) *outboxtest.Database {
	t.Helper()
	db := outboxtest.NewEmptyDatabase(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := gen.Install(t.Context(), conn.Conn(), canonical.DefaultParams(), canonical.Consumer); err != nil {
		t.Fatal(err)
	}
	return db
}

func refund(t testing.TB, id string) facts.Fact {
	t.Helper()
	key, err := facts.NewKey(facts.ID("refund", id))
	if err != nil {
		t.Fatal(err)
	}
	return facts.Fact{Source: "provider", Account: "acct_1", Type: "refund", Key: key, Attributes: map[string]string{"amount": "500", "currency": "EUR"}}
}

// claim claims in a transaction of its own, at a level of isolation.
func claim(ctx context.Context, db *outboxtest.Database, event facts.Told, fact facts.Fact) (claimed facts.Claimed, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(plain pgx.Tx) error {
		tx, err := facts.In(plain, "", event)
		if err != nil {
			return err
		}
		claimed, err = facts.Claim(ctx, tx, fact)
		return err
	})
	return claimed, err
}

func mustClaim(t *testing.T, db *outboxtest.Database, event facts.Told, fact facts.Fact, want facts.Outcome) facts.Claimed {
	t.Helper()
	claimed, err := claim(t.Context(), db, event, fact)
	if err != nil || claimed.Outcome != want {
		t.Fatalf("claim is %s, %v, want %s", claimed.Outcome, err, want)
	}
	return claimed
}

// TestOneFactOfTwoEvents: another event, with another id, that tells the same fact is a replay.
func TestOneFactOfTwoEvents(t *testing.T) {
	t.Parallel()
	db := database(t)
	first := mustClaim(t, db, told, refund(t, "re_1"), facts.Applied)
	second := mustClaim(t, db, facts.Told{Source: "/webhook", ID: "event-2"}, refund(t, "re_1"), facts.Replayed)
	if first.ID != second.ID {
		t.Errorf("ids are %d and %d", first.ID, second.ID)
	}
	mustClaim(t, db, told, refund(t, "re_2"), facts.Applied)
	for _, other := range []func(*facts.Fact){
		func(f *facts.Fact) { f.Source = "other" },
		func(f *facts.Fact) { f.Account = "acct_2" },
		func(f *facts.Fact) { f.Type = "dispute" },
	} {
		fact := refund(t, "re_1")
		other(&fact)
		mustClaim(t, db, told, fact, facts.Applied)
	}
}

// TestEveryAttributeIsCompared, in both directions; the difference has no value in it.
func TestEveryAttributeIsCompared(t *testing.T) {
	t.Parallel()
	db := database(t)
	mustClaim(t, db, told, refund(t, "re_1"), facts.Applied)
	for name, c := range map[string]struct {
		attributes map[string]string
		want       []string
	}{
		"another value": {map[string]string{"amount": "501", "currency": "EUR"}, []string{"amount"}},
		"one more":      {map[string]string{"amount": "500", "currency": "EUR", "kind": "full"}, []string{"kind"}},
		"one less":      {map[string]string{"amount": "500"}, []string{"currency"}},
		"none":          {nil, []string{"amount", "currency"}},
	} {
		fact := refund(t, "re_1")
		fact.Attributes = c.attributes
		claimed := mustClaim(t, db, told, fact, facts.Mismatch)
		if len(claimed.Difference) != len(c.want) {
			t.Errorf("%s: difference is %v", name, claimed.Difference)
		}
		for _, attribute := range c.want {
			if _, has := claimed.Difference[attribute]; !has {
				t.Errorf("%s: difference is %v, want %s in it", name, claimed.Difference, attribute)
			}
		}
		if text := fmt.Sprint(claimed.Difference); strings.Contains(text, "EUR") || strings.Contains(text, "full") {
			t.Errorf("%s: the difference has a value in it: %s", name, text)
		}
	}
	mustClaim(t, db, told, refund(t, "re_1"), facts.Replayed)
}

// TestRolledBackClaimIsNoFact: what dies before its commit leaves nothing behind.
func TestRolledBackClaimIsNoFact(t *testing.T) {
	t.Parallel()
	db := database(t)
	crash := errors.New("crash")
	err := pgx.BeginFunc(t.Context(), db.Pool, func(plain pgx.Tx) error {
		tx, err := facts.In(plain, "", told)
		if err != nil {
			return err
		}
		if _, err := facts.Claim(t.Context(), tx, refund(t, "re_1")); err != nil {
			return err
		}
		if tx.Commit(t.Context()) == nil || tx.Rollback(t.Context()) == nil {
			t.Error("a handler ended its transaction")
		}
		return crash
	})
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}
	mustClaim(t, db, told, refund(t, "re_1"), facts.Applied)
}

// TestLosersWait: of many transactions at once one applies, all others wait and see its
// fact, and the server logs no error.
func TestLosersWait(t *testing.T) {
	t.Parallel()
	db := database(t)
	const claims = 60
	outcomes := make([]facts.Outcome, claims)
	errs := make([]error, claims)
	var all sync.WaitGroup
	fact := refund(t, "re_1")
	for i := range claims {
		all.Go(func() {
			var claimed facts.Claimed
			claimed, errs[i] = claim(t.Context(), db, facts.Told{Source: "/shop", ID: fmt.Sprint(i)}, fact)
			outcomes[i] = claimed.Outcome
		})
	}
	all.Wait()
	counts := map[facts.Outcome]int{}
	for i, outcome := range outcomes {
		if errs[i] != nil {
			t.Error(errs[i])
		}
		counts[outcome]++
	}
	if counts[facts.Applied] != 1 || counts[facts.Replayed] != claims-1 {
		t.Errorf("outcomes are %v", counts)
	}
	if log := db.ServerLog(t); strings.Contains(log, "ERROR") {
		t.Errorf("the server logged errors:\n%s", log)
	}
}
