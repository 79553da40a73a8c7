package hold_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// A schedule is a race between a held write and a decision, with a fixed order.
type schedule struct {
	name    string
	receipt bool   // the write ends with a receipt, whose foreign key waits for the decision
	first   string // "write" or "decision": who has not committed when the other begins
	decide  string // the decision
	level   pgx.TxIsoLevel
}

// leaks runs the schedule and returns how many events are left held under a generation
// that is decided. Nobody will ever send or drop them.
func (s schedule) leaks(t *testing.T, b *testBundle) int {
	t.Helper()
	write := func(tx pgx.Tx) error {
		if err := stage(t.Context(), tx, b.hold, "a"); err != nil || !s.receipt {
			return err
		}
		rows, err := tx.Query(t.Context(), `SELECT outcome FROM outbox.receipt_begin($1, $2, 'step', 'thing', repeat('00', 32), 'id')`,
			b.hold.Operation.String(), b.hold.Generation)
		if err != nil {
			return err
		}
		_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		return err
	}
	decide := func(tx pgx.Tx) error {
		_, err := decisions[s.decide].decide(t, tx, b.hold)
		return err
	}
	first, second := write, decide
	if s.first == "decision" {
		first, second = decide, write
	}

	opened := b.begin(t, pgx.TxOptions{})
	if err := first(opened); err != nil {
		t.Fatalf("first: %v", err)
	}
	c := b.start(t, pgx.TxOptions{IsoLevel: s.level}, second)
	// With the fence the second waits for the first. Without it, it comes through.
	c.waitBlockedOrDone(t, b)
	if err := opened.Commit(t.Context()); err != nil {
		t.Fatalf("commit the first: %v", err)
	}
	if err := c.wait(t); err != nil {
		t.Logf("second: %v", err) // refused, as it should be
	}
	state, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if state.State == hold.Active {
		return 0
	}
	return b.held(t)
}

// mutate changes a function of the schema in this database, and fails unless the change
// is one.
func (b *testBundle) mutate(t *testing.T, function, from, to string) {
	t.Helper()
	text := read[string](t, b.Pool, `SELECT pg_get_functiondef($1::regprocedure)`, function)
	if n := strings.Count(text, from); n != 1 {
		t.Fatalf("%s has %q %d times, want once:\n%s", function, from, n, text)
	}
	if _, err := b.Pool.Exec(t.Context(), strings.Replace(text, from, to, 1)); err != nil {
		t.Fatalf("mutate %s: %v", function, err)
	}
}

// The gate's FOR SHARE is what keeps a write and a decision apart. Someone may believe
// that the foreign key of the receipt does so too, or that looking at the state is
// enough, and take it out: then each of these schedules strands an event, which the
// second half of the test shows. It fails if the real gate is changed so.
func TestTheGateIsAFenceAndTheForeignKeyIsNot(t *testing.T) {
	t.Parallel()
	schedules := []schedule{
		{name: "write first, cancel", first: "write", decide: "cancel"},
		{name: "write first, release", first: "write", decide: "release"},
		{name: "cancel first", first: "decision", decide: "cancel"},
		{name: "release first", first: "decision", decide: "release"},
		{name: "cancel first, write with receipt", first: "decision", decide: "cancel", receipt: true},
		{name: "release first, write with receipt", first: "decision", decide: "release", receipt: true},
	}
	real, broken := setup(t), setup(t)
	broken.mutate(t, `outbox._hold_gate(uuid, integer)`, "FOR SHARE", "")
	for _, s := range schedules {
		t.Run(s.name, func(t *testing.T) {
			if n := s.leaks(t, real.anotherActive(t)); n != 0 {
				t.Errorf("%d events stranded", n)
			}
			if n := s.leaks(t, broken.anotherActive(t)); n == 0 {
				t.Error("no event stranded without FOR SHARE: this test can't see a broken gate any more")
			}
		})
	}
}

// Above READ COMMITTED a decision waits for the write as well, but then still looks at
// the state of before it waited. The refusal of these levels is part of the fence.
func TestDecisionWithAnOldSnapshotWouldStrandEvents(t *testing.T) {
	t.Parallel()
	real, broken := setup(t), setup(t)
	broken.mutate(t, `outbox._hold_check_isolation()`, "'repeatable read', 'serializable'", "'nothing'")
	for _, level := range strictLevels {
		for _, decide := range []string{"release", "cancel"} {
			t.Run(string(level)+" "+decide, func(t *testing.T) {
				s := schedule{first: "write", decide: decide, level: level}
				if n := s.leaks(t, real.anotherActive(t)); n != 0 {
					t.Errorf("%d events stranded", n)
				}
				if n := s.leaks(t, broken.anotherActive(t)); n == 0 {
					t.Error("no event stranded at " + string(level) + " without the refusal: it may not be needed any more")
				}
			})
		}
	}
}

// The gate's second half: a generation that is not the latest is refused also when it is
// active.
func TestTheGateLooksAtTheHighWaterMark(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.register(t, b.generation(2))
	wantSQLState(t, stage(t.Context(), b.Pool, b.hold, "late"), "HF013")
	b.mutate(t, `outbox._hold_gate(uuid, integer)`, "gen < high", "false")
	b.stage(t, b.Pool, b.hold, "late")
	_, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationSuperseded, b.hold, "superseded")
}
