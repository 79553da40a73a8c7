package check_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/consumers/check"
	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// ledger is a service's table of money, with a reversal of a refund in it.
const ledger = `CREATE TABLE public.entry (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(),
	fact_id bigint CONSTRAINT entry_fact UNIQUE REFERENCES outbox.consumer_fact (id),
	kind text NOT NULL DEFAULT 'refund', account text, refund text, amount bigint NOT NULL DEFAULT 500,
	canonical text NOT NULL DEFAULT 'canonical' CHECK (canonical IN ('canonical', 'superseded_duplicate')));
CREATE UNIQUE INDEX entry_refund ON public.entry (account, refund) WHERE kind = 'refund' AND canonical = 'canonical'`

func table() effects.Table {
	return effects.Table{
		Group: "ledger", Table: "public.entry", Type: "refund", Source: "provider", Account: "account",
		Key: []effects.Part{{Name: "refund"}}, Attributes: map[string]string{"amount": "amount"}, Only: map[string]string{"kind": "refund"},
		Marker: "canonical", Index: "entry_refund",
		Reversal: &effects.Reversal{Type: "refund_reversal", Negate: []string{"amount"}, Copy: []string{"refund"}, Set: map[string]string{"kind": "reversal"}},
	}
}

type bundle struct {
	*outboxtest.Database
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{outboxtest.NewDatabase(t), t}
	b.exec(ledger)
	b.exec(`INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
		VALUES ('provider', 'a', 'refund', 'refund=re_1', '/s', 'e1', '{"amount": "500"}')`)
	b.exec("INSERT INTO public.entry (fact_id, account, refund) VALUES (1, 'a', 're_1')")
	return b
}

func (b *bundle) exec(sql string) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql)
}

func (b *bundle) run(cfg check.Config) *check.Report {
	b.t.Helper()
	if cfg.Tables == nil {
		cfg.Tables = []effects.Table{table()}
	}
	r, err := check.Run(b.t.Context(), b.Pool, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// verdicts are the findings in short.
func verdicts(r *check.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, fmt.Sprint(f.Name, " ", f.Verdict, " ", f.Examples, " ", f.Err))
	}
	return all
}

// superseded is a duplicate that was compensated.
const superseded = `INSERT INTO public.entry (account, refund, canonical) VALUES ('a', 're_1', 'superseded_duplicate');
	INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
	VALUES ('provider', 'a', 'refund_reversal', 'reversal_of=refund%3Dre_1/duplicate=2', '/s', 'r', '{"amount": "-500"}');
	INSERT INTO public.entry (fact_id, account, refund, amount, kind) VALUES (2, 'a', 're_1', -500, 'reversal')`

// broken says how each invariant of the catalog is broken, on a database that is thrown away.
var broken = map[string]string{
	"duplicate-facts":          "DROP INDEX public.entry_refund; INSERT INTO public.entry (account, refund) VALUES ('a', 're_1')",
	"fact-without-effect":      "DELETE FROM public.entry",
	"fact-with-effects":        "ALTER TABLE public.entry DROP CONSTRAINT entry_fact; INSERT INTO public.entry (fact_id, account, refund) VALUES (1, 'a', 're_2')",
	"effect-without-fact":      "INSERT INTO public.entry (account, refund) VALUES ('a', 're_2')",
	"effect-differs-from-fact": "UPDATE public.entry SET amount = 501",
	"superseded-compensation":  "INSERT INTO public.entry (account, refund, canonical) VALUES ('a', 're_1', 'superseded_duplicate')",
	"effect-indexes":           "DROP INDEX public.entry_refund",
	"quarantine-open": `INSERT INTO outbox.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference)
		VALUES (1, 'c', '/s', 'e2', 't', 'attribute_mismatch', '{}')`,
	"dead-letters-old": `INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256, dead_at)
		VALUES ('c', 'S', 1, 1, 'permanent', sha256('x'), now() - interval '2 h')`,
	"replays-stuck": `INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, reason_code, reason_detail_sha256, state, changed_at)
		VALUES ('c', 'S', 1, 1, 'permanent', sha256('x'), 'replay_requested', now() - interval '1 h')`,
}

// TestEachInvariantIsRed when it is broken, names what broke it, and is green before.
func TestEachInvariantIsRed(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, inv := range check.Catalog() {
		if names[inv.Name] || broken[inv.Name] == "" || inv.Remedy == "" || inv.Meaning == "" || inv.Severity == "" {
			t.Errorf("%s stands twice in the catalog, has no remedy, or nothing breaks it", inv.Name)
		}
		names[inv.Name] = true
		t.Run(inv.Name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if r := b.run(check.Config{}); !r.Sound() || len(r.Findings) != len(check.Catalog()) {
				t.Fatalf("before: %v", verdicts(r))
			}
			b.exec(broken[inv.Name])
			r := b.run(check.Config{Names: []string{inv.Name}})
			if f := r.Findings[0]; r.Sound() || len(r.Findings) != 1 || f.Verdict != check.Broken || f.Count != 1 || len(f.Examples) != 1 || f.Examples[0].ID == "" {
				t.Errorf("after: %v", verdicts(r))
			}
		})
	}
	if len(names) != len(broken) {
		t.Errorf("%d invariants are broken here, and the catalog has %d", len(broken), len(names))
	}
}

// TestLegalShapesAreGreen: what a repair leaves, and other rows of the table.
func TestLegalShapesAreGreen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(superseded)
	b.exec("INSERT INTO public.entry (kind, account, refund) VALUES ('fee', 'a', 're_1'), ('fee', 'a', 're_1')")
	if r := b.run(check.Config{}); !r.Sound() {
		t.Errorf("findings are %v", verdicts(r))
	}
	b.exec("UPDATE public.entry SET amount = -499 WHERE kind = 'reversal'")
	r := b.run(check.Config{Names: []string{"superseded-compensation"}})
	if r.Sound() {
		t.Error("a reversal of another sum is taken for a compensation")
	}
}

// TestInvalidIndexIsFound: what CREATE INDEX CONCURRENTLY leaves when it fails constrains nothing.
func TestInvalidIndexIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("DROP INDEX public.entry_refund; INSERT INTO public.entry (account, refund) VALUES ('a', 're_1')")
	_, err := b.Pool.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY entry_refund ON public.entry (account, refund) WHERE kind = 'refund' AND canonical = 'canonical'")
	if err == nil {
		t.Fatal("the index was built over duplicates")
	}
	r := b.run(check.Config{Names: []string{"effect-indexes"}})
	if f := r.Findings[0]; f.Count != 1 || f.Examples[0].ID != "entry_refund" {
		t.Errorf("finding is %+v", f)
	}
}

// TestIndexOfAnotherShapeIsFound, under the name that is described.
func TestIndexOfAnotherShapeIsFound(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]string{
		"DROP INDEX public.entry_refund; CREATE UNIQUE INDEX entry_refund ON public.entry (id)":                                                                               "entry_refund",
		"DROP INDEX public.entry_refund; CREATE UNIQUE INDEX entry_refund ON public.entry (account, refund, id) WHERE kind = 'refund' AND canonical = 'canonical'":            "entry_refund",
		"DROP INDEX public.entry_refund; CREATE UNIQUE INDEX entry_refund ON public.entry (account, refund) WHERE kind = 'refund' AND canonical = 'canonical' AND amount > 0": "entry_refund",
		"DROP INDEX public.entry_refund; CREATE UNIQUE INDEX entry_refund ON public.entry (account, refund) WHERE kind = 'refund' AND canonical = 'superseded_duplicate'":     "entry_refund",
		"ALTER TABLE public.entry DROP CONSTRAINT entry_fact; CREATE UNIQUE INDEX entry_fact ON public.entry (fact_id) WHERE false":                                           "fact_id",
	} {
		b := setup(t)
		b.exec(other)
		r := b.run(check.Config{Names: []string{"effect-indexes"}})
		if f := r.Findings[0]; f.Count != 1 || f.Examples[0].ID != want {
			t.Errorf("%s: finding is %+v", other, f)
		}
	}
}

// TestNothingThatWasCheckedIsNotSound: an invariant that is asked for is checked, or the answer is an error.
func TestNothingThatWasCheckedIsNotSound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := table()
	plain.Marker, plain.Reversal = "", nil
	for name, tables := range map[string][]effects.Table{"duplicate-facts": nil, "superseded-compensation": {plain}} {
		var nothing *check.InapplicableError
		_, err := check.Run(t.Context(), b.Pool, check.Config{Names: []string{"quarantine-open", name}, Tables: tables})
		if !errors.As(err, &nothing) || nothing.Name != name || nothing.Hint() == "" {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if (&check.Report{}).Sound() {
		t.Error("a report of nothing is sound")
	}
}

// TestGraceAndNames: the clock of the database, and names that there are.
func TestGraceAndNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(broken["dead-letters-old"])
	for grace, want := range map[time.Duration]check.Verdict{time.Hour: check.Broken, 3 * time.Hour: check.Held} {
		r := b.run(check.Config{Names: []string{"dead-letters-old"}, Grace: map[string]time.Duration{"dead-letters-old": grace}})
		if got := r.Findings[0].Verdict; got != want {
			t.Errorf("with a grace of %s it is %s, want %s", grace, got, want)
		}
	}
	var unknown *check.UnknownNameError
	if _, err := check.Run(t.Context(), b.Pool, check.Config{Names: []string{"duplicates"}}); !errors.As(err, &unknown) {
		t.Errorf("error is %v", err)
	}
}

// TestWhatCannotBeCheckedIsNotSound: a query that fails is unknown, and the others are made still.
func TestWhatCannotBeCheckedIsNotSound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("ALTER TABLE outbox.consumer_quarantine RENAME TO away")
	r := b.run(check.Config{})
	i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Verdict == check.Unknown })
	if r.Sound() || i < 0 || r.Findings[i].Name != "quarantine-open" || r.Findings[i].Err == nil {
		t.Errorf("findings are %v", verdicts(r))
	}
	var wrong *effects.Error
	other := table()
	other.Account = "customer"
	if _, err := check.Run(t.Context(), b.Pool, check.Config{Tables: []effects.Table{other}}); !errors.As(err, &wrong) || !regexp.MustCompile(`no column "customer"`).MatchString(err.Error()) {
		t.Errorf("error is %v", err)
	}
}
