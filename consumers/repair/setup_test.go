package repair_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/repair"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// membership is a service's table that old writers filled without facts.
const membership = `CREATE TABLE public.membership (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT '2026-01-01Z',
	fact_id bigint UNIQUE REFERENCES outbox.consumer_fact (id), kind text NOT NULL DEFAULT 'member', status text NOT NULL DEFAULT 'pending',
	account text NOT NULL DEFAULT 'acct', member text, start date DEFAULT '2026-02-01', cents bigint NOT NULL DEFAULT 500,
	created_by text NOT NULL DEFAULT 'importer', adjusted_at timestamptz, note text,
	no uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE, UNIQUE (no, account));
CREATE TABLE public.visit (member_no uuid REFERENCES public.membership (no) ON DELETE CASCADE);
CREATE TABLE public.stay (member_no uuid, account text, FOREIGN KEY (member_no, account) REFERENCES public.membership (no, account) ON DELETE SET NULL);
CREATE TABLE public.payout (id bigint PRIMARY KEY, membership_id bigint REFERENCES public.membership (id) ON DELETE CASCADE);
CREATE TABLE public.letter (id bigint PRIMARY KEY, about bigint)`

func table() effects.Table {
	pending := "pending"
	return effects.Table{
		Group: "members", Table: "public.membership", Type: "membership", Source: "provider", Account: "account",
		Key: []effects.Part{{Name: "member"}, {Name: "start"}}, Attributes: map[string]string{"cents": "cents"}, Only: map[string]string{"kind": "member"},
		Status: "status", Identical: []string{"created_by"}, Untouched: map[string]*string{"status": &pending, "adjusted_at": nil},
		References: []effects.Reference{{Table: "public.letter", Column: "about"}},
		Events:     []effects.Event{{Type: "member.added", Field: "membership"}}, Index: "membership_once",
	}
}

// entry is a table of money: nothing of it is ever removed.
const entry = `CREATE TABLE public.entry (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(),
	fact_id bigint UNIQUE REFERENCES outbox.consumer_fact (id), kind text NOT NULL DEFAULT 'refund',
	account text NOT NULL, refund text NOT NULL, amount bigint NOT NULL, currency text NOT NULL DEFAULT 'EUR',
	canonical text NOT NULL DEFAULT 'canonical' CHECK (canonical IN ('canonical', 'superseded_duplicate')))`

func money() effects.Table {
	return effects.Table{
		Group: "members", Table: "public.entry", Type: "refund", Source: "provider", Account: "account",
		Key: []effects.Part{{Name: "refund"}}, Attributes: map[string]string{"amount": "amount", "currency": "currency"}, Only: map[string]string{"kind": "refund"},
		Marker: "canonical", Index: "entry_refund_once",
		Reversal: &effects.Reversal{Type: "refund_reversal", Negate: []string{"amount"}, Copy: []string{"refund", "currency"}, Set: map[string]string{"kind": "reversal"}},
	}
}

type bundle struct {
	*outboxtest.Database
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{outboxtest.NewDatabase(t), t}
	b.exec(membership)
	b.exec(entry)
	return b
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

func query[T any](b *bundle, sql string, args ...any) []T {
	b.t.Helper()
	return outboxtest.All[T](b.t, b.Pool, sql, args...)
}

func (b *bundle) pause() {
	b.t.Helper()
	control, err := consumers.NewControl(b.Pool, "")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := control.Pause(b.t.Context(), "members", "me", "test"); err != nil {
		b.t.Fatal(err)
	}
}

// three are a member with two duplicates, and one without.
func (b *bundle) three() {
	b.t.Helper()
	b.exec("INSERT INTO public.membership (member, created_at) VALUES ('m_1', '2026-01-02Z'), ('m_1', '2026-01-01Z'), ('m_2', '2026-01-01Z'), ('m_1', '2026-01-01Z')")
	b.tell("1", "2", "3", "4")
}

// tell stages the events of rows.
func (b *bundle) tell(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		b.exec("SELECT outbox.publish_text('/members', 'member.added', '{\"membership\": " + id + "}')")
	}
}

func (b *bundle) run(t effects.Table, mode repair.Mode) (*repair.Report, error) {
	b.t.Helper()
	return b.with(b.t.Context(), repair.Config{Table: t, Mode: mode})
}

func (b *bundle) with(ctx context.Context, cfg repair.Config) (*repair.Report, error) {
	b.t.Helper()
	cfg.Actor, cfg.Reason = "alice", "ticket 17"
	return repair.Run(ctx, b.Pool, cfg)
}

// state is everything that a repair may change.
func (b *bundle) state() string {
	b.t.Helper()
	return query[string](b, `SELECT concat_ws('|', (SELECT string_agg(m::text, ',' ORDER BY id) FROM public.membership AS m), (SELECT string_agg(e::text, ',' ORDER BY id) FROM public.entry AS e),
		(SELECT count(*) FROM outbox.consumer_repair), (SELECT count(*) FROM outbox.consumer_fact), (SELECT count(*) FROM outbox.event_outbox),
		(SELECT string_agg(indexname, ',' ORDER BY 1) FROM pg_indexes WHERE schemaname = 'public'))`)[0]
}
