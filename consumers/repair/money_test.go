package repair_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/consumers/check"
	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/repair"
)

// TestMoneyIsReversedAndNotRemoved: nothing of a row changes but its marker, each duplicate has one reversal
// whose key has its id, the sum is right, and the catalog of invariants is green.
func TestMoneyIsReversedAndNotRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("INSERT INTO public.entry (account, refund, amount) VALUES ('a', 're/1', 500), ('a', 're/1', 500), ('a', 're/1', 500), ('b', 're/1', 500), ('a', 're_2', 300)")
	b.pause()
	r, err := b.run(money(), repair.Apply)
	if err != nil || r.Superseded != 2 || r.Reversals != 2 || r.Removed != 0 || r.Facts != 3 {
		t.Fatalf("the repair is %+v, %v", r, err)
	}
	got := query[string](b, "SELECT concat_ws(' ', e.id, kind, account, refund, amount, currency, canonical, f.fact_key, f.attributes) FROM public.entry e LEFT JOIN outbox.consumer_fact f ON f.id = e.fact_id ORDER BY e.id")
	want := []string{
		`1 refund a re/1 500 EUR canonical refund=re%2F1 {"amount": "500", "currency": "EUR"}`,
		`2 refund a re/1 500 EUR superseded_duplicate`,
		`3 refund a re/1 500 EUR superseded_duplicate`,
		`4 refund b re/1 500 EUR canonical refund=re%2F1 {"amount": "500", "currency": "EUR"}`,
		`5 refund a re_2 300 EUR canonical refund=re_2 {"amount": "300", "currency": "EUR"}`,
		`6 reversal a re/1 -500 EUR canonical reversal_of=refund%3Dre%252F1/duplicate=2 {"amount": "-500", "currency": "EUR"}`,
		`7 reversal a re/1 -500 EUR canonical reversal_of=refund%3Dre%252F1/duplicate=3 {"amount": "-500", "currency": "EUR"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries are\n%q, want\n%q", got, want)
	}
	if sum := query[int64](b, "SELECT sum(amount)::bigint FROM public.entry WHERE account = 'a'"); sum[0] != 800 {
		t.Errorf("the balance is %d, want 800", sum[0])
	}
	found, err := check.Run(t.Context(), b.Pool, check.Config{Tables: []effects.Table{money()}})
	if err != nil || !found.Sound() {
		t.Errorf("findings are %+v, %v", found, err)
	}
	if again, err := b.run(money(), repair.Apply); err != nil || again.Duplicates != 0 || again.Reversals != 0 {
		t.Errorf("the second time it is %+v, %v", again, err)
	}
	if _, err := b.Pool.Exec(t.Context(), "INSERT INTO public.entry (account, refund, amount) VALUES ('a', 're/1', 500)"); err == nil {
		t.Error("a writer that does not know the marker made one more")
	}
}

// TestReversalHappensOnce: a duplicate that was marked by hand and reversed, and then made canonical again, is
// not reversed a second time.
func TestReversalHappensOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("INSERT INTO public.entry (account, refund, amount) VALUES ('a', 're_1', 500), ('a', 're_1', 500)")
	b.pause()
	if _, err := b.run(money(), repair.Apply); err != nil {
		t.Fatal(err)
	}
	b.exec("DROP INDEX public.entry_refund_once; UPDATE public.entry SET canonical = 'canonical'")
	before := b.state()
	r, err := b.run(money(), repair.Apply)
	var refused *repair.RefusedError
	if !errors.As(err, &refused) || r.Counts[repair.Reversed] != 1 || b.state() != before {
		t.Errorf("the repair is %+v, %v", r, err)
	}
}
