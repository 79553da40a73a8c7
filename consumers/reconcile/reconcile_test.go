package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/reconcile"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

const entry = `CREATE TABLE public.entry (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), fact_id bigint,
	kind text NOT NULL DEFAULT 'refund', account text NOT NULL, refund text NOT NULL, amount bigint NOT NULL,
	canonical text NOT NULL DEFAULT 'canonical')`

func table() effects.Table {
	return effects.Table{
		Group: "ledger", Table: "public.entry", Type: "refund", Source: "provider", Account: "account", Key: []effects.Part{{Name: "refund"}},
		Attributes: map[string]string{"amount": "amount"}, Only: map[string]string{"kind": "refund"}, Marker: "canonical", Index: "x",
		Reversal: &effects.Reversal{Type: "r", Negate: []string{"amount"}, Set: map[string]string{"kind": "reversal"}},
		Export:   map[string]string{"account": "acct", "refund": "id", "amount": "cents"},
		Told:     map[string]map[string]string{"refund.made": {"refund": "refund.id", "amount": "refund.cents"}, "charge.refunded": nil},
	}
}

type bundle struct {
	*outboxtest.Database
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{outboxtest.NewDatabase(t), t}
	b.exec(entry)
	return b
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

// fact claims a fact and returns the expression of its id.
func (b *bundle) fact(account, refund, amount string) string {
	b.t.Helper()
	b.exec(`INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
		VALUES ('provider', $1, 'refund', 'refund=' || $2::text, '/s', $2::text, jsonb_build_object('amount', $3::text))`, account, refund, amount)
	return "(SELECT max(id) FROM outbox.consumer_fact)"
}

func (b *bundle) effect(fact, account, refund, amount string) {
	b.t.Helper()
	b.exec("INSERT INTO public.entry (fact_id, account, refund, amount) VALUES ("+fact+", $1, $2, $3::bigint)", account, refund, amount)
}

func (b *bundle) run(truth reconcile.Truth, cfg reconcile.Config) *reconcile.Report {
	b.t.Helper()
	cfg.Table = table()
	r, err := reconcile.Run(b.t.Context(), b.Pool, truth, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func want(t *testing.T, r *reconcile.Report, counts map[reconcile.Class]int64) {
	t.Helper()
	if !maps.Equal(r.Counts, counts) {
		t.Errorf("counts are %v, want %v; examples %+v", r.Counts, counts, r.Examples)
	}
	var unexplained int64
	for class, n := range counts {
		if !class.Explained() {
			unexplained += n
		}
	}
	if r.Unexplained() != unexplained {
		t.Errorf("%d are unexplained, want %d", r.Unexplained(), unexplained)
	}
}

// TestEachClass: one key of each, told by an export.
func TestEachClass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.effect(b.fact("a", "clean", "500"), "a", "clean", "500")
	b.effect(b.fact("a", "twice", "500"), "a", "twice", "500")
	b.effect("NULL", "a", "twice", "500")
	b.effect(b.fact("a", "sum", "499"), "a", "sum", "499")
	b.effect(b.fact("a", "effect", "500"), "a", "effect", "501")
	b.effect(b.fact("a", "decided", "500"), "a", "decided", "500")
	b.exec(`INSERT INTO outbox.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference, state, resolved_at, resolved_by, resolution)
		VALUES ((SELECT max(id) FROM outbox.consumer_fact), 'c', '/s', 'q', 't', 'attribute_mismatch', '{}', 'resolved', now(), 'alice', 'the provider was wrong')`)
	b.fact("a", "nothing", "500")
	b.effect("NULL", "a", "stray", "500")
	b.effect(b.fact("b", "moved", "500"), "b", "moved", "500")
	b.effect(b.fact("b", "unknown", "500"), "b", "unknown", "500")
	b.exec("INSERT INTO public.entry (account, refund, amount, canonical) VALUES ('a', 'clean', 500, 'superseded_duplicate'); INSERT INTO public.entry (kind, account, refund, amount) VALUES ('fee', 'a', 'clean', 500)")
	const export = "id,acct,cents,other\nclean,a,500,x\nclean,a,500,again\ntwice,a,500,\nsum,a,500,\neffect,a,500,\ndecided,a,502,\nnothing,a,500,\nstray,a,500,\nmoved,a,500,\nmissing,a,500,\n"
	counts := map[reconcile.Class]int64{
		reconcile.Clean: 1, reconcile.Duplicate: 1, reconcile.Mismatch: 2, reconcile.Decided: 1, reconcile.Split: 2,
		reconcile.CrossAccount: 1, reconcile.Missing: 1, reconcile.Foreign: 1,
	}
	r := b.run(reconcile.CSV("export.csv", strings.NewReader("\ufeff"+export), table()), reconcile.Config{})
	want(t, r, counts)
	for _, e := range r.Examples {
		if e.Class == reconcile.Missing && (e.Key != "refund=missing" || e.Ref != "export.csv line 11" || e.Account != "a") {
			t.Errorf("example is %+v", e)
		}
		if e.Class == reconcile.Duplicate && len(e.Effects) != 2 {
			t.Errorf("example is %+v", e)
		}
	}
	array := `[{"id": "clean", "acct": "a", "cents": 500, "more": {"x": 1}}, {"id": "twice", "acct": "a", "cents": 500}, {"id": "sum", "acct": "a", "cents": 500},
		{"id": "effect", "acct": "a", "cents": 500}, {"id": "decided", "acct": "a", "cents": 502}, {"id": "nothing", "acct": "a", "cents": 500},
		{"id": "stray", "acct": "a", "cents": 500}, {"id": "moved", "acct": "a", "cents": 500}, {"id": "missing", "acct": "a", "cents": 500}]`
	want(t, b.run(reconcile.JSON("array", strings.NewReader(array), table()), reconcile.Config{}), counts)
	lines := strings.NewReplacer("[", "", "]", "", "},", "}\n").Replace(array)
	want(t, b.run(reconcile.JSON("lines", strings.NewReader(lines), table()), reconcile.Config{Examples: -1}), counts)
}

// TestWindowBoundsWhatIsForeign, and not what the truth tells; a duplicate is one at any time.
func TestWindowBoundsWhatIsForeign(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.effect(b.fact("a", "old", "500"), "a", "old", "500")
	b.effect(b.fact("a", "told", "500"), "a", "told", "500")
	b.exec("UPDATE public.entry SET created_at = now() - interval '2 days'")
	b.exec("UPDATE outbox.consumer_fact SET created_at = now() - interval '2 days'")
	b.effect(b.fact("a", "new", "500"), "a", "new", "500")
	truth := func() reconcile.Truth {
		return reconcile.CSV("e", strings.NewReader("id,acct,cents\ntold,a,500\n"), table())
	}
	want(t, b.run(truth(), reconcile.Config{}), map[reconcile.Class]int64{reconcile.Clean: 1, reconcile.Foreign: 2})
	want(t, b.run(truth(), reconcile.Config{Since: time.Now().Add(-time.Hour)}), map[reconcile.Class]int64{reconcile.Clean: 1, reconcile.Foreign: 1})
	want(t, b.run(truth(), reconcile.Config{Until: time.Now().Add(-time.Hour)}), map[reconcile.Class]int64{reconcile.Clean: 1, reconcile.Foreign: 1})
	b.effect("NULL", "a", "old", "500")
	want(t, b.run(truth(), reconcile.Config{Since: time.Now().Add(time.Hour)}), map[reconcile.Class]int64{reconcile.Clean: 1, reconcile.Duplicate: 1})
}

// TestHalfATruthExplainsNothing: what cannot be read to its end, or has no key, ends it without a report.
func TestHalfATruthExplainsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, truth := range map[string]reconcile.Truth{
		"empty":       reconcile.CSV("e", strings.NewReader(""), table()),
		"no column":   reconcile.CSV("e", strings.NewReader("id,cents\nx,500\n"), table()),
		"no value":    reconcile.CSV("e", strings.NewReader("id,acct,cents\n,a,500\n"), table()),
		"short line":  reconcile.CSV("e", strings.NewReader("id,acct,cents\nx,a\n"), table()),
		"cut array":   reconcile.JSON("e", strings.NewReader(`[{"id": "x", "acct": "a", "cents": 1}`), table()),
		"cut object":  reconcile.JSON("e", strings.NewReader(`{"id": "x", "acct"`), table()),
		"no object":   reconcile.JSON("e", strings.NewReader(`["x"]`), table()),
		"a time, not": reconcile.CSV("e", strings.NewReader("id,acct,cents\n2026-01-31T10:00:00Z,a,500\n"), table()),
	} {
		var wrong *reconcile.TruthError
		r, err := reconcile.Run(t.Context(), b.Pool, truth, reconcile.Config{Table: table()})
		if r != nil || !errors.As(err, &wrong) || wrong.Hint() == "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestStreamIsATruth: two types of events tell one fact, however often, up to where the stream ended.
func TestStreamIsATruth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, server.URL(), "EVENTS", "events.>")
	enc, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(id, eventType string, data any) time.Time {
		t.Helper()
		body, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := enc.Encode(&outbox.Record{ID: id, Source: "/shop", Type: eventType, DataContentType: "application/json", Data: body})
		if err != nil {
			t.Fatal(err)
		}
		ack, err := js.PublishMsg(t.Context(), msg)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := js.Stream(t.Context(), "EVENTS")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := stream.GetMsg(t.Context(), ack.Sequence)
		if err != nil {
			t.Fatal(err)
		}
		return stored.Time
	}
	nothing := func(what, reason string) {
		t.Helper()
		truth := reconcile.Stream(js, "EVENTS", table(), time.Time{}, time.Time{})
		var wrong *reconcile.TruthError
		if _, err := reconcile.Run(t.Context(), b.Pool, truth, reconcile.Config{Table: table()}); !errors.As(err, &wrong) || wrong.Reason != reason || wrong.Hint() == "" {
			t.Errorf("%s: error is %v", what, err)
		}
		if r := b.run(reconcile.MayBeEmpty(truth), reconcile.Config{}); r.Records != 0 || r.Unexplained() != 0 {
			t.Errorf("%s that may be: %+v", what, r)
		}
	}
	nothing("an empty stream", "no event tells the fact: of 0 messages 0 are no events and 0 are of other types")
	made := func(id string, cents int) any {
		return map[string]any{"account": "a", "refund": map[string]any{"id": id, "cents": cents}}
	}
	publish("e0", "other", "no object")
	nothing("a stream of something else", "no event tells the fact: of 1 messages 0 are no events and 1 are of other types")
	publish("e1", "refund.made", made("one", 500))
	publish("e2", "charge.refunded", map[string]any{"account": "a", "refund": "one", "amount": 500})
	publish("e3", "other", "no object")
	if _, err := js.Publish(t.Context(), "events.foreign", []byte("no event")); err != nil {
		t.Fatal(err)
	}
	b.effect(b.fact("a", "one", "500"), "a", "one", "500")
	from := publish("e4", "refund.made", made("two", 300))
	r := b.run(reconcile.Stream(js, "EVENTS", table(), time.Time{}, time.Time{}), reconcile.Config{})
	want(t, r, map[reconcile.Class]int64{reconcile.Clean: 1, reconcile.Missing: 1})
	if r.Records != 3 || r.Examples[0].Ref != "event e4 at 6" || r.Messages != 6 || r.Unreadable != 1 {
		t.Errorf("the report is %+v", r)
	}
	want(t, b.run(reconcile.Stream(js, "EVENTS", table(), time.Time{}, from), reconcile.Config{}), map[reconcile.Class]int64{reconcile.Clean: 1})
	want(t, b.run(reconcile.Stream(js, "EVENTS", table(), from, time.Time{}), reconcile.Config{Since: time.Now().Add(time.Hour)}), map[reconcile.Class]int64{reconcile.Missing: 1})
	publish("e5", "refund.made", made("one", 501))
	want(t, b.run(reconcile.Stream(js, "EVENTS", table(), time.Time{}, time.Time{}), reconcile.Config{}), map[reconcile.Class]int64{reconcile.Mismatch: 1, reconcile.Missing: 1})
	publish("e6", "refund.made", json.RawMessage(`{"account": "a", "refund": {"id": "three", "cents": 1, "cents": 2}}`))
	var wrong *reconcile.TruthError
	if _, err := reconcile.Run(t.Context(), b.Pool, reconcile.Stream(js, "EVENTS", table(), time.Time{}, time.Time{}), reconcile.Config{Table: table()}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `event e6 at 8: has no JSON object as its data: has "cents" twice`) {
		t.Errorf("error is %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reconcile.Run(ended, b.Pool, reconcile.Stream(js, "EVENTS", table(), time.Time{}, time.Time{}), reconcile.Config{Table: table()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
