package repair_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/consumers/repair"
)

// TestIdenticalDuplicatesAreRemoved: the first by time and id stays, the ledger knows the others, their events
// that nobody has published go with them, every effect has its fact, and the index stands.
func TestIdenticalDuplicatesAreRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.three()
	b.exec("SELECT outbox.publish_text('/members', 'member.other', 'no JSON') FROM generate_series(1, 4)")
	b.pause()
	plan, err := b.run(table(), repair.Plan)
	if err != nil || plan.Duplicates != 2 || plan.Events != 2 || plan.Facts != 2 || plan.IndexState != "absent" || plan.Applied || !slices.Equal(plan.Groups[0].IDs, []string{"2", "4", "1"}) {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	before := b.state()
	rehearsal, err := b.run(table(), repair.Rehearse)
	if err != nil || rehearsal.Removed != 2 || rehearsal.IndexState != "built" || rehearsal.Applied || rehearsal.Total() == 0 || b.state() != before {
		t.Fatalf("the rehearsal is %+v, %v", rehearsal, err)
	}
	r, err := b.run(table(), repair.Apply)
	if err != nil || !r.Applied || r.Removed != 2 || r.Events != 2 || r.Facts != 2 {
		t.Fatalf("the repair is %+v, %v", r, err)
	}
	if got := query[int64](b, "SELECT id FROM public.membership ORDER BY id"); !slices.Equal(got, []int64{2, 3}) {
		t.Errorf("left are %v", got)
	}
	ledger := query[string](b, "SELECT concat_ws(' ', relation, canonical_id, duplicate_id, prior_status, reason, row_snapshot ->> 'member') FROM outbox.consumer_repair ORDER BY id")
	if want := []string{"public.membership 2 4 pending ticket 17 (alice) m_1", "public.membership 2 1 pending ticket 17 (alice) m_1"}; !slices.Equal(ledger, want) {
		t.Errorf("the ledger is %q, want %q", ledger, want)
	}
	if got := query[string](b, "SELECT convert_from(data, 'UTF8') FROM outbox.event_outbox WHERE type = 'member.added' ORDER BY 1"); !slices.Equal(got, []string{`{"membership": 2}`, `{"membership": 3}`}) {
		t.Errorf("events are %q", got)
	}
	if got := query[string](b, "SELECT f.fact_key || ' ' || f.attributes FROM public.membership m JOIN outbox.consumer_fact f ON f.id = m.fact_id ORDER BY m.id"); !slices.Equal(got,
		[]string{`member=m_1/start=2026-02-01 {"cents": "500"}`, `member=m_2/start=2026-02-01 {"cents": "500"}`}) {
		t.Errorf("facts are %q", got)
	}
	_, err = b.Pool.Exec(t.Context(), "INSERT INTO public.membership (member, status) VALUES ('m_1', 'ended')")
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.ConstraintName != "membership_once" {
		t.Errorf("an old writer got %v", err)
	}
	b.exec("INSERT INTO public.membership (member, start) VALUES ('m_1', '2026-03-01')")
	b.exec("INSERT INTO public.membership (member, kind) VALUES ('m_1', 'guest'), ('m_1', 'guest')")
	again, err := b.run(table(), repair.Apply)
	if err != nil || again.Duplicates != 0 || again.IndexState != "there" || again.Facts != 1 {
		t.Errorf("the second time it is %+v, %v", again, err)
	}
}

// TestEveryOtherShapeStopsEverything: it is named by ids, and nothing is changed, not even of a group that
// could be repaired.
func TestEveryOtherShapeStopsEverything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want repair.Shape
		ids  string
		n    int64 // 0 is one
	}{
		"another sum":              {"UPDATE public.membership SET cents = 501 WHERE id = 4", repair.Differs, "2 4 1", 0},
		"another author":           {"UPDATE public.membership SET created_by = 'x' WHERE id = 4", repair.Differs, "2 4 1", 0},
		"another status":           {"UPDATE public.membership SET status = 'active' WHERE id = 4", repair.Touched, "2 4 1", 0},
		"voided":                   {"UPDATE public.membership SET status = 'voided' WHERE id = 2", repair.Touched, "2 4 1", 0},
		"only a stamp":             {"UPDATE public.membership SET adjusted_at = now() WHERE id = 1", repair.Touched, "2 4 1", 0},
		"named by a foreign key":   {"INSERT INTO public.payout VALUES (1, 4)", repair.Referenced, "2 4 1", 0},
		"named by a plain column":  {"INSERT INTO public.letter VALUES (1, 1)", repair.Referenced, "2 4 1", 0},
		"a duplicate has the fact": {claimed, repair.Claimed, "2 4 1", 0},
		"named by another column":  {"INSERT INTO public.visit (member_no) SELECT no FROM public.membership WHERE id = 4", repair.Referenced, "2 4 1", 0},
		"named by two columns":     {"INSERT INTO public.stay SELECT no, account FROM public.membership WHERE id = 1", repair.Referenced, "2 4 1", 0},
		"no key":                   {"INSERT INTO public.membership (member) VALUES (NULL)", repair.Keyless, "5", 0},
		"an empty part of the key": {"INSERT INTO public.membership (member) VALUES ('')", repair.Keyless, "5", 0},
		"no account":               {"INSERT INTO public.membership (account, member) VALUES ('', 'm_7')", repair.Keyless, "5", 0},
		"its event has left":       {"UPDATE outbox.outbox_lane SET drained = '4000000:4000000:'", repair.Published, "2 4", 3},
		"its event may be on its way": {"UPDATE outbox.outbox_lane SET lease_owner = 'pod', lease_token = gen_random_uuid(), lease_until = now() - interval '1 h'",
			repair.Published, "2 4", 3},
		"its event left long ago": {"DELETE FROM outbox.event_outbox WHERE convert_from(data, 'UTF8')::jsonb ->> 'membership' = '4'", repair.Published, "2 4", 0},
		"a fact says otherwise": {`INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
			VALUES ('provider', 'acct', 'membership', 'member=m_2/start=2026-02-01', '/s', 'e', '{"cents": "499"}')`, repair.Unlinked, "3", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.three()
			b.exec("INSERT INTO public.membership (id, member) OVERRIDING SYSTEM VALUE VALUES (8, 'm_3'), (9, 'm_3')")
			b.tell("8", "9")
			b.exec(c.sql)
			b.pause()
			before := b.state()
			r, err := b.run(table(), repair.Apply)
			var refused *repair.RefusedError
			if !errors.As(err, &refused) || r.Counts[c.want] != max(c.n, 1) || r.Refusals() != max(c.n, 1) || !strings.Contains(err.Error(), "id "+c.ids+")") || refused.Hint() == "" {
				t.Errorf("the repair is %+v, %v", r, err)
			}
			if after := b.state(); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

const claimed = `INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes)
	VALUES ('provider', 'acct', 'membership', 'member=m_1/start=2026-02-01', '/s', 'e', '{"cents": "500"}'); UPDATE public.membership SET fact_id = 1 WHERE id = 4`

// TestGroupMustBePaused, and who does it and why must be said.
func TestGroupMustBePaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.three()
	before := b.state()
	if _, err := b.run(table(), repair.Apply); !errors.Is(err, repair.ErrRunning) || b.state() != before {
		t.Errorf("error is %v", err)
	}
	if _, err := repair.Run(t.Context(), b.Pool, repair.Config{Table: table(), Mode: repair.Apply}); err == nil || !strings.Contains(err.Error(), "actor") {
		t.Errorf("error is %v", err)
	}
}

// TestDescriptionMustCompare: without columns that must be equal, every row of a key would be identical.
func TestDescriptionMustCompare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.three()
	b.exec("UPDATE public.membership SET cents = 999, status = 'voided' WHERE id = 4")
	b.pause()
	before := b.state()
	for want, change := range map[string]func(*effects.Table){
		"attributes or identical": func(t *effects.Table) { t.Attributes, t.Identical = nil, nil },
		"untouched":               func(t *effects.Table) { t.Untouched = nil },
	} {
		bare := table()
		change(&bare)
		var wrong *effects.Error
		if _, err := b.run(bare, repair.Apply); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || b.state() != before {
			t.Errorf("without %s: error is %v", want, err)
		}
	}
}

// TestWriterThatIsInTheWay: a lock that does not come ends the repair in time, and one that was taken keeps
// writers out until the commit.
func TestWriterThatIsInTheWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.three()
	b.pause()
	writer, err := b.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Rollback(t.Context()) }()
	if _, err := writer.Exec(t.Context(), "INSERT INTO public.membership (member) VALUES ('m_2')"); err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	_, err = b.with(t.Context(), repair.Config{Table: table(), Mode: repair.Apply, LockTimeout: 20 * time.Millisecond})
	if !errors.As(err, &refused) || refused.Code != "55P03" {
		t.Errorf("error is %v", err)
	}
	if err := writer.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	blocked := ""
	cfg := repair.Config{Table: table(), Mode: repair.Apply, Progress: func(step string) {
		if step == "assert" {
			_, err := b.Pool.Exec(t.Context(), "SET lock_timeout = 20; INSERT INTO public.membership (member) VALUES ('m_9')")
			if errors.As(err, &refused) {
				blocked = refused.Code
			}
			if _, err := b.Pool.Exec(t.Context(), "RESET lock_timeout"); err != nil {
				t.Error(err)
			}
		}
	}}
	if r, err := b.with(t.Context(), cfg); err != nil || !r.Applied || blocked != "55P03" {
		t.Errorf("the repair is %+v, %v; a writer beside it got %q", r, err, blocked)
	}
}

// TestIndexIsProven in the catalog: an invalid one is built anew, one of another shape ends the repair.
func TestIndexIsProven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.three()
	b.pause()
	if _, err := b.Pool.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY membership_once ON public.membership (member)"); err == nil {
		t.Fatal("the index was built over duplicates")
	}
	plan, err := b.run(table(), repair.Plan)
	if err != nil || plan.IndexState != "invalid" {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	if r, err := b.run(table(), repair.Apply); err != nil || r.IndexState != "built" {
		t.Fatalf("the repair is %+v, %v", r, err)
	}
	for _, other := range []string{
		"CREATE UNIQUE INDEX membership_once ON public.membership (account, member) WHERE kind = 'member'",
		"CREATE INDEX membership_once ON public.membership (account, member, start) WHERE kind = 'member'",
		"CREATE UNIQUE INDEX membership_once ON public.membership (account, member, start) WHERE kind = 'member' AND status <> 'voided'",
	} {
		b.exec("DROP INDEX public.membership_once")
		b.exec(other)
		var wrong *repair.IndexError
		for _, mode := range []repair.Mode{repair.Apply, repair.Plan} {
			if _, err := b.run(table(), mode); !errors.As(err, &wrong) || wrong.Hint() == "" {
				t.Errorf("%s: %s: error is %v", mode, other, err)
			}
		}
	}
}
