package effects_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func table() effects.Table {
	return effects.Table{
		Group: "ledger", Table: "public.entry", Type: "refund", Source: "provider", Account: "account",
		Key: []effects.Part{{Name: "refund"}, {Name: "start", Column: "told", Field: "start"}}, Attributes: map[string]string{"amount": "amount"},
		Only: map[string]string{"kind": "re'fund"}, Index: "entry_refund",
	}.WithDefaults()
}

const entry = `CREATE TABLE public.entry (id bigint PRIMARY KEY, created_at timestamptz, fact_id bigint, kind text, account text, refund text, told jsonb, amount bigint);
	ALTER TABLE public.entry ADD UNIQUE (account, amount);
	CREATE TABLE public.payout (entry_id bigint REFERENCES public.entry (id), other bigint, "by" text, sum bigint, FOREIGN KEY (sum, "by") REFERENCES public.entry (amount, account))`

// TestKeysAreThoseOfTheMapper: the database makes the same text as package facts, whatever is in a part.
func TestKeysAreThoseOfTheMapper(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if _, err := db.Pool.Exec(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	tab := table()
	for i, parts := range [][2]string{{"re_1", "2026-01-31"}, {"a/b", "c=d"}, {"100%", "%2F"}, {"'quoted'", `back\slash`}, {"ünïcode", "x"}} {
		if _, err := db.Pool.Exec(t.Context(), "INSERT INTO public.entry (id, kind, refund, told) VALUES ($1, 're''fund', $2, jsonb_build_object('start', $3::text))", i, parts[0], parts[1]); err != nil {
			t.Fatal(err)
		}
		want, err := facts.NewKey(facts.ID("refund", parts[0]), facts.ID("start", parts[1]))
		if err != nil {
			t.Fatal(err)
		}
		reversal, err := facts.ReversalKey(want, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		var got, back string
		var effect bool
		sql := fmt.Sprintf("SELECT %s, %s, %s FROM public.entry AS e WHERE e.id = $1", tab.KeyText("e"), tab.ReversalKeyText("e"), tab.IsEffect("e"))
		if err := db.Pool.QueryRow(t.Context(), sql, i).Scan(&got, &back, &effect); err != nil {
			t.Fatal(err)
		}
		if got != want.String() || back != reversal.String() || !effect {
			t.Errorf("%q makes %q and %q, want %q and %q", parts, got, back, want, reversal)
		}
	}
}

// TestValidate names every mistake, and runs nothing of what stands in a description.
func TestValidate(t *testing.T) {
	t.Parallel()
	if err := table().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*effects.Table){
		"group: must be":             func(t *effects.Table) { t.Group = "" },
		`table "a.b.c"`:              func(t *effects.Table) { t.Table = "a.b.c" },
		"key: needs a part":          func(t *effects.Table) { t.Key = nil },
		"changes between deliveries": func(t *effects.Table) { t.Key = []effects.Part{{Name: "event_id", Column: "x"}} },
		"stands there twice":         func(t *effects.Table) { t.Key = append(t.Key, t.Key[0]) },
		"one needs the other":        func(t *effects.Table) { t.Marker = "canonical" },
		`told x: "sum" is neither`:   func(t *effects.Table) { t.Told = map[string]map[string]string{"x": {"sum": "y"}} },
		"one more effect of this type": func(t *effects.Table) {
			t.Marker, t.Reversal = "m", &effects.Reversal{Type: "r", Negate: []string{"amount"}}
		},
		"not two of them": func(t *effects.Table) {
			t.Marker, t.Reversal = "m", &effects.Reversal{Type: "r", Negate: []string{"amount"}, Copy: []string{"amount"}, Set: map[string]string{"kind": "x"}}
		},
		"rows that are marked stay": func(t *effects.Table) {
			t.Marker, t.Reversal = "m", &effects.Reversal{Type: "r", Negate: []string{"amount"}, Set: map[string]string{"kind": "x"}}
			t.Events = []effects.Event{{Type: "x"}}
		},
	} {
		bad := table()
		change(&bad)
		var wrong *effects.Error
		if err := bad.Validate(); !errors.As(err, &wrong) || len(wrong.Problems) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", want, err)
		}
	}
}

// TestInspect finds foreign keys, and what does not exist.
func TestInspect(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	if _, err := db.Pool.Exec(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	tab := table()
	tab.References = []effects.Reference{{Table: "public.payout", Column: "other"}, {Table: "public.payout", Column: "entry_id"}}
	found, err := effects.Inspect(t.Context(), db.Pool, tab)
	want := []effects.Naming{
		{Table: "public.payout", Columns: []string{"entry_id"}, Named: []string{"id"}}, {Table: "public.payout", Columns: []string{"sum", "by"}, Named: []string{"amount", "account"}},
		{Table: "public.payout", Columns: []string{"other"}, Named: []string{"id"}},
	}
	if diff := cmp.Diff(want, found); err != nil || diff != "" {
		t.Errorf("%v, references (-want +got):\n%s", err, diff)
	}
	tab.References = []effects.Reference{{Table: "public.payout", Column: "gone"}}
	tab.Identical = []string{`x"; DROP TABLE public.entry; --`}
	var wrong *effects.Error
	if _, err := effects.Inspect(t.Context(), db.Pool, tab); !errors.As(err, &wrong) || len(wrong.Problems) != 2 {
		t.Errorf("error is %v", err)
	}
	tab = table()
	tab.Table = "public.nothing"
	if _, err := effects.Inspect(t.Context(), db.Pool, tab); !errors.As(err, &wrong) || len(wrong.Problems) != 1 {
		t.Errorf("error is %v", err)
	}
}
