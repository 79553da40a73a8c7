package hold_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

const days = 24 * time.Hour

// receipts writes n receipts of a generation that is active.
func (b *testBundle) receipts(t testing.TB, h outbox.Hold, n int) {
	t.Helper()
	b.exec(t, `INSERT INTO outbox.hold_receipt (operation_id, generation, step_key, entity_kind, stable_id, body_digest)
		SELECT $1, $2, 'step:' || i, 'entity', 'id', sha256('x') FROM generate_series(1, $3::int) i`, h.Operation, h.Generation, n)
}

// age moves what was decided into the past.
func (b *testBundle) age(t testing.TB, by string) {
	t.Helper()
	b.exec(t, `UPDATE outbox.hold_generation SET decided_at = decided_at - $1::interval, compensated_at = compensated_at - $1::interval`, by)
}

func (b *testBundle) release(t testing.TB, h outbox.Hold) {
	t.Helper()
	if _, err := hold.Release(t.Context(), b.Pool, h, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func prune(t testing.TB, db hold.DB, most int) hold.Pruned {
	t.Helper()
	store, err := hold.New(hold.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pruned, err := store.Prune(t.Context(), db, "pruner", hold.Retention{Keep: 30 * days}, most)
	if err != nil {
		t.Fatalf("prune: %v", err)
	}
	return pruned
}

// left returns the generations that are there, and how many receipts each has.
func (b *testBundle) left(t testing.TB) []string {
	t.Helper()
	return column[string](t, b.Pool, `SELECT g.generation || ' ' || state || ' ' || (SELECT count(*) FROM outbox.hold_receipt r
		WHERE r.operation_id = g.operation_id AND r.generation = g.generation)
		FROM outbox.hold_generation g WHERE operation_id = $1 ORDER BY g.generation`, b.hold.Operation)
}

// Sibling generations, and others of the same age, stay: everything goes by its full key.
func TestOnlyOldAndEndedGenerationsArePruned(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	for n, end := range []func(outbox.Hold){
		func(h outbox.Hold) { b.release(t, h) },                                    // 1: old
		func(h outbox.Hold) { b.cancel(t, h) },                                     // 2: has something to undo
		func(h outbox.Hold) { must(hold.Drop(t.Context(), b.Pool, h, "test"))(t) }, // 3: old
		func(outbox.Hold) {},                                                       // 4: active
	} {
		h := b.generation(n + 1)
		b.register(t, h)
		b.receipts(t, h, 3)
		end(h)
	}
	b.age(t, "31 days")
	young := b.anotherActive(t)
	young.receipts(t, young.hold, 2)
	young.release(t, young.hold)
	young.exec(t, `UPDATE outbox.hold_generation SET decided_at = decided_at - interval '29 days' WHERE operation_id = $1`, young.hold.Operation)

	if got := prune(t, b.Pool, 1000); got != (hold.Pruned{Generations: 2, Receipts: 6}) {
		t.Errorf("pruned %+v, want 2 generations and 6 receipts", got)
	}
	if diff := cmp.Diff([]string{"2 cancelled 3", "4 active 3"}, b.left(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 released 2"}, young.left(t)); diff != "" {
		t.Errorf("left of the young operation (-want +got):\n%s", diff)
	}
	if got := prune(t, b.Pool, 1000); got != (hold.Pruned{}) {
		t.Errorf("pruned %+v again", got)
	}
	audit := column[string](t, b.Pool, `SELECT generation || ' ' || state_before || ' by ' || actor FROM outbox.hold_audit WHERE action = 'prune' ORDER BY 1`)
	if diff := cmp.Diff([]string{"1 released by pruner", "3 cancelled by pruner"}, audit); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func must(_ hold.Answer, err error) func(testing.TB) {
	return func(t testing.TB) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGenerationThatWasPrunedStaysRefused(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.release(t, b.hold)
	b.age(t, "31 days")
	prune(t, b.Pool, 10)
	_, err := hold.Register(t.Context(), b.Pool, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF010")
	b.register(t, b.generation(2))
}

// What a person has to look at is not forgotten with its generation.
func TestQuarantineOutlivesPruning(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.createEntities(t)
	b.applied(t, b.hold, "a")
	b.exec(t, `UPDATE entity SET shared = true`)
	b.cancel(t, b.hold)
	if _, err := hold.Compensate(t.Context(), b.Pool, b.hold, "test", &service{}); err != nil {
		t.Fatal(err)
	}
	b.age(t, "31 days")
	if got := prune(t, b.Pool, 10); got != (hold.Pruned{Generations: 1, Receipts: 1}) {
		t.Errorf("pruned %+v, want the generation", got)
	}
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.hold_quarantine`); n != 1 {
		t.Errorf("%d entities are in quarantine, want 1", n)
	}
}

// Many receipts go in batches of a size that is known, while writers of other generations,
// and of the same operation, are not held up for a moment.
func TestPruningGoesInBatchesAndBlocksNoWriter(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	const all, batch = 25_000, 4_000
	b.receipts(t, b.hold, all)
	b.release(t, b.hold)
	b.age(t, "31 days")
	b.register(t, b.generation(2))
	pruner := b.begin(t, pgx.TxOptions{})
	if got := prune(t, pruner, batch); got != (hold.Pruned{Receipts: batch}) {
		t.Fatalf("the first batch pruned %+v, want %d receipts", got, batch)
	}
	// The batch is open. Who waited for it would wait for ever.
	writer := b.begin(t, pgx.TxOptions{})
	if _, err := writer.Exec(t.Context(), `SET LOCAL lock_timeout = '5s'`); err != nil {
		t.Fatal(err)
	}
	b.createEntities(t)
	if err := b.apply(t, b.generation(2), "a")(writer); err != nil {
		t.Errorf("a writer beside the pruner: %v", err)
	}
	if _, err := hold.Register(t.Context(), writer, b.another().hold, "test"); err != nil {
		t.Errorf("a register beside the pruner: %v", err)
	}
	if got := prune(t, writer, batch); got != (hold.Pruned{}) {
		t.Errorf("a second pruner took %+v of what the first has locked", got)
	}
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pruner.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := hold.Pruned{Receipts: batch}
	for batches := 0; sum.Generations == 0 && batches < all/batch+2; batches++ {
		got := prune(t, b.Pool, batch)
		if got.Receipts > batch {
			t.Errorf("a batch took %d receipts, want %d at most", got.Receipts, batch)
		}
		sum.Receipts, sum.Generations = sum.Receipts+got.Receipts, sum.Generations+got.Generations
	}
	if sum != (hold.Pruned{Generations: 1, Receipts: all}) {
		t.Errorf("pruned %+v over all batches, want one generation and %d receipts", sum, all)
	}
	if diff := cmp.Diff([]string{"2 active 1"}, b.left(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestRetentionMustBeLongerThanTheRetryHorizon(t *testing.T) {
	t.Parallel()
	for argument, r := range map[string]hold.Retention{
		"retention":     {Keep: 5 * days},
		"retry_horizon": {RetryHorizon: -1},
	} {
		wantArgument(t, r.Validate(), argument)
	}
	wantArgument(t, hold.Retention{Keep: 10 * days, RetryHorizon: 10 * days}.Validate(), "retention")
	wantArgument(t, hold.Retention{Keep: time.Hour, RetryHorizon: time.Minute}.Validate(), "retention")
	for _, r := range []hold.Retention{{}, {Keep: 8 * days}, {Keep: 61 * days, RetryHorizon: 60 * days}} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
