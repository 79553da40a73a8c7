package facts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// claimAll claims in a transaction of its own, each fact as an event of its own tells it.
func claimAll(ctx context.Context, db *outboxtest.Database, list ...facts.Fact) (claims []facts.Claimed, err error) {
	err = pgx.BeginFunc(ctx, db.Pool, func(plain pgx.Tx) error {
		tellings := make([]facts.Telling, len(list))
		for i, fact := range list {
			tx, err := facts.In(plain, "", facts.Told{Source: "/shop", ID: fmt.Sprint("batch-", i)})
			if err != nil {
				return err
			}
			tellings[i] = facts.Telling{Tx: tx, Fact: fact}
		}
		if claims, err = facts.ClaimAll(ctx, tellings); err != nil {
			return err
		}
		for i, t := range tellings {
			if diff := cmp.Diff(t.Tx.Claims(), claims[i:i+1], cmp.AllowUnexported(facts.Key{})); diff != "" {
				return fmt.Errorf("claims of event %d: %s", i, diff)
			}
		}
		return nil
	})
	return claims, err
}

// TestClaimAll answers in order, as claims one by one would.
func TestClaimAll(t *testing.T) {
	t.Parallel()
	db := database(t)
	known := mustClaim(t, db, told, refund(t, "known"), facts.Applied)
	differing := mustClaim(t, db, told, refund(t, "differs"), facts.Applied)
	other := func(f facts.Fact, amount string) facts.Fact {
		f.Attributes = map[string]string{"amount": amount, "currency": "EUR"}
		return f
	}
	claims, err := claimAll(t.Context(), db, refund(t, "z"), refund(t, "known"), refund(t, "a"), refund(t, "z"),
		other(refund(t, "differs"), "501"), other(refund(t, "a"), "502"), other(refund(t, "z"), "500"))
	if err != nil {
		t.Fatal(err)
	}
	want := []facts.Outcome{facts.Applied, facts.Replayed, facts.Applied, facts.Replayed, facts.Mismatch, facts.Mismatch, facts.Replayed}
	for i, c := range claims {
		if c.Outcome != want[i] || c.ID == 0 || len(c.Difference) > 0 != (want[i] == facts.Mismatch) {
			t.Errorf("claim %d is %s with id %d and difference %v, want %s", i, c.Outcome, c.ID, c.Difference, want[i])
		}
	}
	if claims[1].ID != known.ID || claims[4].ID != differing.ID || claims[3].ID != claims[0].ID || claims[5].ID != claims[2].ID {
		t.Errorf("ids are %v", claims)
	}
	if none, err := facts.ClaimAll(t.Context(), nil); none != nil || err != nil {
		t.Errorf("nothing is %v, %v", none, err)
	}
}

// TestClaimAllTellsWhichEvent told each fact.
func TestClaimAllTellsWhichEvent(t *testing.T) {
	t.Parallel()
	db := database(t)
	if _, err := claimAll(t.Context(), db, refund(t, "b"), refund(t, "a")); err != nil {
		t.Fatal(err)
	}
	for key, event := range map[string]string{"refund=b": "batch-0", "refund=a": "batch-1"} {
		var got string
		if err := db.Pool.QueryRow(t.Context(), "SELECT event_id FROM outbox.consumer_fact WHERE fact_key = $1", key).Scan(&got); err != nil || got != event {
			t.Errorf("%s was told by %s, %v, want %s", key, got, err, event)
		}
	}
}

// TestClaimAllRefusesOneBadFact, and claims none.
func TestClaimAllRefusesOneBadFact(t *testing.T) {
	t.Parallel()
	db := database(t)
	bad := refund(t, "bad")
	bad.Account = ""
	var wrong *facts.FactError
	if _, err := claimAll(t.Context(), db, refund(t, "good"), bad); !errors.As(err, &wrong) || wrong.Field != "account" {
		t.Errorf("error is %v", err)
	}
	var n int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox.consumer_fact").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d facts, %v, want none", n, err)
	}
}

// TestClaimAllMeetsInNoCircle: many transactions claim the same facts, each in an order of its own, and none is
// ended as a deadlock; each fact is applied once.
func TestClaimAllMeetsInNoCircle(t *testing.T) {
	t.Parallel()
	db := database(t)
	const workers, rounds, n = 8, 10, 20
	applied := make([][]int, rounds)
	for round := range rounds {
		applied[round] = make([]int, n)
		var mu sync.Mutex
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				order := rand.Perm(n)
				list := make([]facts.Fact, n)
				for i, k := range order {
					list[i] = refund(t, fmt.Sprint(round, "-", k))
				}
				claims, err := claimAll(t.Context(), db, list...)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for i, c := range claims {
					if c.Outcome == facts.Applied {
						applied[round][order[i]]++
					}
				}
			})
		}
		all.Wait()
		for k, times := range applied[round] {
			if times != 1 {
				t.Errorf("fact %d of round %d was applied %d times", k, round, times)
			}
		}
	}
}
