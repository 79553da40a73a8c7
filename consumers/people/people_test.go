package people_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/consumers/people"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

type bundle struct {
	*outboxtest.Database
	*people.Store
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	db := outboxtest.NewDatabase(t)
	store, err := people.New(db.Pool, "")
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{db, store, t}
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

// dead makes n dead letters of a consumer.
func (b *bundle) dead(consumer, code string, n int) {
	b.t.Helper()
	b.exec(`INSERT INTO outbox.consumer_dead_letter (consumer, stream, stream_seq, attempts, event_source, event_id, event_type, reason_code, reason_detail_sha256)
		SELECT $1, 'EVENTS', i, 1, '/shop', $1 || '-' || i, 'refund.made', $2, sha256('why') FROM generate_series(1, $3::int) AS i`, consumer, code, n)
}

// TestFiltersOfDeadLetters: each narrows the choice, and groups count beyond the limit.
func TestFiltersOfDeadLetters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead("ledger", "exhausted", 3)
	b.dead("search", "malformed", 2)
	for want, filters := range map[int][]people.Filter{
		5: {{}, {States: []string{people.Dead}}, {Type: "refund.made"}, {Since: time.Now().Add(-time.Hour)}},
		3: {{Consumer: "ledger"}, {Reason: "exhausted"}, {Limit: 3}},
		2: {{Consumer: "search"}, {IDs: []int64{1, 5, 99}}, {EventIDs: []string{"ledger-1", "search-2"}}},
		0: {{Before: time.Now().Add(-time.Hour)}, {Type: "other"}, {States: []string{people.Resolved}}},
	} {
		for _, f := range filters {
			if list, err := b.DeadLetters(t.Context(), f); err != nil || len(list) != want {
				t.Errorf("%+v chooses %d, %v, want %d", f, len(list), err, want)
			}
		}
	}
	groups, err := b.Groups(t.Context(), people.Filter{Limit: 1})
	if err != nil || len(groups) != 2 || groups[0].Count != 3 || groups[0].Consumer != "ledger" || groups[1].Reason != "malformed" {
		t.Errorf("groups are %+v, %v", groups, err)
	}
	list, err := b.DeadLetters(t.Context(), people.Filter{IDs: []int64{1}})
	if err != nil || list[0].EventID != "ledger-1" || list[0].Stream != "EVENTS" || len(list[0].DetailSHA256) != 64 || list[0].ClaimUntil != nil {
		t.Errorf("the dead letter is %+v, %v", list, err)
	}
}

// TestEachMoveOfADeadLetter: only those of the table of states, each with who and why.
func TestEachMoveOfADeadLetter(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]struct{ replay, discard bool }{
		people.Dead: {true, true}, people.ReplayRequested: {false, true}, people.Replaying: {}, people.Resolved: {}, people.Discarded: {},
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.dead("ledger", "exhausted", 2)
			b.exec(`UPDATE outbox.consumer_dead_letter SET state = $1::text,
				claim_token = CASE $1::text WHEN 'replaying' THEN gen_random_uuid() END, claim_until = CASE $1::text WHEN 'replaying' THEN now() END`, state)
			moved, err := b.RequestReplay(t.Context(), []int64{1, 99}, "alice", "mended")
			if err != nil || slices.Equal(moved, []int64{1}) != want.replay || !want.replay && len(moved) > 0 {
				t.Errorf("a request moved %v, %v", moved, err)
			}
			moved, err = b.Discard(t.Context(), []int64{2}, "bob", "test data")
			if err != nil || slices.Equal(moved, []int64{2}) != want.discard || !want.discard && len(moved) > 0 {
				t.Errorf("a discard moved %v, %v", moved, err)
			}
			acts, err := b.History(t.Context(), 2)
			if err != nil || len(acts) != map[bool]int{true: 1}[want.discard] {
				t.Fatalf("the history is %+v, %v", acts, err)
			}
			if want.discard && (acts[0].State != people.Discarded || acts[0].Actor != "bob" || acts[0].Reason != "test data" || acts[0].Attempts != 1) {
				t.Errorf("the history is %+v", acts)
			}
		})
	}
}

// TestNobodyDecidesWithoutAName, nor without a reason.
func TestNobodyDecidesWithoutAName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead("ledger", "exhausted", 1)
	for _, said := range [][2]string{{"", "why"}, {"alice", ""}, {strings.Repeat("x", 256), "why"}, {"alice", strings.Repeat("x", 1001)}, {"al\xffce", "why"}} {
		for name, act := range map[string]func() ([]int64, error){
			"replay":  func() ([]int64, error) { return b.RequestReplay(t.Context(), []int64{1}, said[0], said[1]) },
			"discard": func() ([]int64, error) { return b.Discard(t.Context(), []int64{1}, said[0], said[1]) },
			"resolve": func() ([]int64, error) { return b.Resolve(t.Context(), []int64{1}, said[0], said[1]) },
		} {
			var invalid *people.InvalidError
			if _, err := act(); !errors.As(err, &invalid) {
				t.Errorf("%s by %.9q because %.9q: %v", name, said[0], said[1], err)
			}
		}
	}
	if _, err := people.New(b.Pool, "Out"); err == nil {
		t.Error("a schema that needs quotes was taken")
	}
}

// TestQuarantineIsResolvedOnce: the first resolution stays.
func TestQuarantineIsResolvedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`INSERT INTO outbox.consumer_fact (source, account_id, fact_type, fact_key, event_source, event_id, attributes) VALUES ('p', 'a', 'refund', 'refund=1', '/s', 'e', '{}')`)
	b.exec(`INSERT INTO outbox.consumer_quarantine (fact_id, consumer, event_source, event_id, event_type, reason, difference)
		SELECT 1, 'ledger', '/shop', 'e' || i, 'refund.made', 'attribute_mismatch', '{"amount": {"known": "aa", "told": "bb"}}' FROM generate_series(1, 2) AS i`)
	if ids, err := b.Resolve(t.Context(), []int64{1, 99}, "alice", "provider was wrong"); err != nil || !slices.Equal(ids, []int64{1}) {
		t.Errorf("resolved %v, %v", ids, err)
	}
	if ids, err := b.Resolve(t.Context(), []int64{1}, "bob", "again"); err != nil || len(ids) != 0 {
		t.Errorf("resolved %v again, %v", ids, err)
	}
	list, err := b.Quarantine(t.Context(), people.QuarantineFilter{})
	if err != nil || len(list) != 2 || list[0].ResolvedBy != "alice" || list[0].Resolution != "provider was wrong" || list[0].FactKey != "refund=1" ||
		list[1].Difference["amount"] != (people.Digests{Known: "aa", Told: "bb"}) {
		t.Errorf("quarantine is %+v, %v", list, err)
	}
	for want, filter := range map[int64]people.QuarantineFilter{
		2: {Limit: 1, Consumer: "ledger", Type: "refund.made", Since: time.Now().Add(-time.Hour), Before: time.Now().Add(time.Hour)}, 1: {Open: true}, 0: {IDs: []int64{99}},
	} {
		if n, err := b.CountQuarantine(t.Context(), filter); err != nil || n != want {
			t.Errorf("%d are chosen by %+v, want %d: %v", n, filter, want, err)
		}
	}
	open, err := b.Quarantine(t.Context(), people.QuarantineFilter{Open: true, Consumer: "ledger"})
	if err != nil || len(open) != 1 || open[0].ID != 2 {
		t.Errorf("open are %+v, %v", open, err)
	}
}

func TestOverview(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.dead("ledger", "exhausted", 2)
	b.exec(`INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id, processed_at) VALUES ('ledger', '/s', '1', now()), ('search', '/s', '1', NULL)`)
	list, err := b.Overviews(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].Dead != 2 || list[0].OldestDead == nil || list[0].Deliveries != 1 || list[1].Failing != 1 || list[1].LastProcessed != nil {
		t.Errorf("consumers are %+v, %v", list, err)
	}
	if list, err := b.Overviews(t.Context(), "search"); err != nil || len(list) != 1 {
		t.Errorf("the consumer is %+v, %v", list, err)
	}
	b.pause()
	if all, err := b.Switches(t.Context(), "money"); err != nil || len(all) != 1 || !all[0].Paused || all[0].By != "me" {
		t.Errorf("switches are %+v, %v", all, err)
	}
}

func (b *bundle) pause() {
	b.t.Helper()
	control, err := consumers.NewControl(b.Pool, "")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := control.Pause(b.t.Context(), "money", "me", "test"); err != nil {
		b.t.Fatal(err)
	}
}

// TestDrainIsProven: a transaction that began before the cut counts until it ends, one that began later never
// does, and neither time nor a session that nobody may see is a proof.
func TestDrainIsProven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Drain(t.Context(), "money", nil, time.Time{}); !errors.Is(err, people.ErrRunning) {
		t.Fatalf("a group that runs: %v", err)
	}
	old := b.begin(b.Pool)
	b.pause()
	first, err := b.Drain(t.Context(), "money", []string{"ledger"}, time.Time{})
	if err != nil || first.Drained() || len(first.Open) != 1 || first.Open[0].State != "idle in transaction" || first.Cut.IsZero() {
		t.Fatalf("the look is %+v, %v", first, err)
	}
	young := b.begin(b.Pool)
	defer func() { _ = young.Rollback(t.Context()) }()
	if err := old.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := b.Drain(t.Context(), "money", []string{"ledger"}, first.Cut)
	if err != nil || !second.Drained() || !second.Cut.Equal(first.Cut) {
		t.Errorf("the look is %+v, %v", second, err)
	}
	b.exec(`INSERT INTO outbox.consumer_inbox (consumer, event_source, event_id, processed_at) VALUES ('ledger', '/s', '1', clock_timestamp())`)
	if third, err := b.Drain(t.Context(), "money", []string{"ledger"}, first.Cut); err != nil || third.Drained() || third.Processed != 1 || third.LastProcessed == nil {
		t.Errorf("with a delivery after the cut the look is %+v, %v", third, err)
	}
}

// TestDrainOfWhatCannotBeSeen: sessions of other roles, and those that do not say what they do.
func TestDrainOfWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pause()
	silent := b.begin(b.Pool)
	if _, err := silent.Exec(t.Context(), "SET LOCAL track_activities = off"); err != nil {
		t.Fatal(err)
	}
	d, err := b.Drain(t.Context(), "money", nil, time.Time{})
	if err != nil || d.Drained() {
		t.Errorf("beside a session that says nothing the look is %+v, %v", d, err)
	}
	if err := silent.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Sessions of another role are hidden from a role without pg_read_all_stats.
	role := b.Name + "_reader"
	b.exec("CREATE ROLE " + role + " LOGIN")
	b.exec("GRANT USAGE ON SCHEMA outbox TO " + role)
	b.exec("GRANT SELECT ON ALL TABLES IN SCHEMA outbox TO " + role)
	cfg := b.Pool.Config().Copy()
	cfg.ConnConfig.User, cfg.MaxConns = role, 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store, err := people.New(pool, "")
	if err != nil {
		t.Fatal(err)
	}
	other := b.begin(b.Pool)
	defer func() { _ = other.Rollback(t.Context()) }()
	d, err = store.Drain(t.Context(), "money", nil, time.Time{})
	if err != nil || d.Drained() || d.Hidden == 0 {
		t.Errorf("a role that sees nobody finds %+v, %v", d, err)
	}
}

// begin opens a transaction that writes.
func (b *bundle) begin(pool *pgxpool.Pool) pgx.Tx {
	b.t.Helper()
	tx, err := pool.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := tx.Exec(b.t.Context(), "SELECT pg_current_xact_id()"); err != nil {
		b.t.Fatal(err)
	}
	return tx
}
