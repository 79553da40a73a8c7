package retry_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// bury makes a dead letter of a fresh event and returns the claim that did.
func (b *bench) bury(key string) retry.Claim {
	b.t.Helper()
	b.waiting(key, "retry_scheduled")
	c := b.claimOne()
	b.record(c, retry.Permanent(refused))
	return c
}

func TestRequeueWorksAfterTheLogForgotTheEvent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.bury("k")
	b.exec("DELETE FROM outbox.event_outbox")
	list, err := b.List(t.Context(), retry.Filter{})
	if err != nil || len(list) != 1 || list[0].EventID != c.EventID || list[0].Bytes != 2 {
		t.Fatalf("dead letters %+v (%v)", list, err)
	}
	moved, err := b.Requeue(t.Context(), []int64{list[0].ID, 999}, "ops", "limit raised")
	if err != nil || len(moved) != 1 || moved[0] != list[0].ID {
		t.Fatalf("moved %v (%v)", moved, err)
	}
	if n := b.count("outbox_dead_letter"); n != 0 {
		t.Errorf("%d dead letters are left", n)
	}
	again := b.claimOne()
	if again.Epoch != 1 || again.Attempts != 0 {
		t.Errorf("claim after requeue %+v, want epoch 1 and no attempts", again)
	}
	event, err := b.Event(t.Context(), again)
	if err != nil || string(event.Data) != "\x00\xff" || event.PartitionKey != "k" {
		t.Errorf("event %+v (%v)", event, err)
	}
	// An outcome of before cannot match.
	if _, err := b.Record(t.Context(), c, retry.Permanent(refused)); !errors.Is(err, retry.ErrConflict) {
		t.Errorf("old outcome: %v, want a conflict", err)
	}
	// It can be refused again, and accepted, and leaves nothing behind.
	b.record(again, retry.Permanent(refused))
	list, err = b.List(t.Context(), retry.Filter{EventIDs: []string{c.EventID}})
	if err != nil || len(list) != 1 || list[0].Epoch != 1 {
		t.Fatalf("dead letters after the second refusal %+v (%v)", list, err)
	}
	if _, err := b.Requeue(t.Context(), []int64{list[0].ID}, "ops", "once more"); err != nil {
		t.Fatal(err)
	}
	b.record(b.claimOne(), retry.Accepted("EVENTS", 3))
	if b.count("outbox_retry")+b.count("outbox_requeued")+b.count("outbox_dead_letter") != 0 {
		t.Error("something is left behind")
	}
	history, err := b.History(t.Context(), c.Lane, c.Seq)
	if err != nil || len(history) != 4 {
		t.Fatalf("history %+v (%v), want four lines", history, err)
	}
	if history[1].Action != "requeued" || history[1].Actor != "ops" || history[1].Reason != "limit raised" {
		t.Errorf("second line of the history: %+v", history[1])
	}
}

func TestDiscardKeepsWhoAndWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.bury("")
	list, err := b.List(t.Context(), retry.Filter{Reason: refused.Code, Type: "test.happened", Since: time.Now().Add(-time.Hour)})
	if err != nil || len(list) != 1 {
		t.Fatalf("dead letters %+v (%v)", list, err)
	}
	var invalid *retry.InvalidError
	if _, err := b.Discard(t.Context(), []int64{list[0].ID}, "ops", ""); !errors.As(err, &invalid) {
		t.Errorf("discard without a reason: %v, want an *InvalidError", err)
	}
	if _, err := b.Discard(t.Context(), []int64{list[0].ID}, "", "test data"); !errors.As(err, &invalid) {
		t.Errorf("discard without an actor: %v, want an *InvalidError", err)
	}
	gone, err := b.Discard(t.Context(), []int64{list[0].ID}, "ops", "test data")
	if err != nil || len(gone) != 1 {
		t.Fatalf("discarded %v (%v)", gone, err)
	}
	history, err := b.History(t.Context(), c.Lane, c.Seq)
	if err != nil || len(history) != 2 || history[1].Action != "discarded" {
		t.Errorf("history %+v (%v)", history, err)
	}
}

func TestKeyGoesOnBehindADeadLetterUnlessItBlocks(t *testing.T) {
	t.Parallel()
	for _, blocks := range []bool{false, true} {
		b := newBench(t, func(c *retry.Config) { c.DeadLetterBlocksKey = blocks })
		b.waiting("k", "retry_scheduled")
		parked := b.waiting("k", "parked")
		b.record(b.claimOne(), retry.Permanent(refused))
		if blocks {
			b.due(parked)
			if got := b.claim(10); len(got) != 0 {
				t.Errorf("claimed %+v behind a dead letter that blocks", got)
			}
			continue
		}
		if c := b.claimOne(); c.ID != parked {
			t.Errorf("claimed %d, want %d", c.ID, parked)
		}
	}
}

// intoDead makes a dead letter of a waiting row and lets the row be.
const intoDead = `INSERT INTO outbox.outbox_dead_letter (relay_group, lane, seq, staged_at, attempts, reason_code, reason_detail_sha256, event_id, source, type, extensions)
	SELECT relay_group, lane, seq, now(), 1, 'rejected', sha256('x'), event_id, '/test', 't', '{}' FROM outbox.outbox_retry WHERE id = $1`

// TestOneFate is about the triggers: in both sets at once is impossible, whoever comes first
// and whichever way a row comes.
func TestOneFate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dead := b.bury("")
	waiting := b.waiting("", "retry_scheduled")
	for name, try := range map[string]func() error{
		"a waiting event becomes a dead letter": func() error { return b.try(intoDead, waiting) },
		"a dead letter waits": func() error {
			return b.try("INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind) VALUES ('default', $1, $2, 'x', 'parked')", dead.Lane, dead.Seq)
		},
		"a waiting row is renamed to a dead letter": func() error {
			return b.try("UPDATE outbox.outbox_retry SET lane = $2, seq = $3 WHERE id = $1", waiting, dead.Lane, dead.Seq)
		},
		"a dead letter is renamed to a waiting row": func() error {
			return b.try("UPDATE outbox.outbox_dead_letter d SET lane = r.lane, seq = r.seq FROM outbox.outbox_retry r WHERE r.id = $1", waiting)
		},
	} {
		var pg *pgconn.PgError
		if err := try(); !errors.As(err, &pg) || pg.Code != "HF020" {
			t.Errorf("%s: %v, want HF020", name, err)
		}
	}

	// Two transactions at once: the second waits for the first and is then refused.
	first, err := b.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback(t.Context()) //nolint:errcheck // ended below
	const name = "INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind) VALUES ('default', 3, 777777, 'x', 'parked')"
	if _, err := first.Exec(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		second <- b.try(`INSERT INTO outbox.outbox_dead_letter (relay_group, lane, seq, staged_at, attempts, reason_code, reason_detail_sha256, event_id, source, type, extensions)
			VALUES ('default', 3, 777777, now(), 1, 'rejected', sha256('x'), 'x', '/test', 't', '{}')`)
	}()
	b.eventuallyWaiting(1)
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var pg *pgconn.PgError
	if err := <-second; !errors.As(err, &pg) || pg.Code != "HF020" {
		t.Errorf("the second of two transactions: %v, want HF020", err)
	}
}

func (b *bench) try(sql string, args ...any) error {
	_, err := b.db.Pool.Exec(b.t.Context(), sql, args...)
	return err
}

// eventuallyWaiting waits until n sessions of the database wait for a lock.
func (b *bench) eventuallyWaiting(n int64) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for one[int64](b, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") < n {
		if time.Now().After(deadline) {
			b.t.Fatalf("not %d sessions wait for a lock", n)
		}
	}
}

// TestStatementsPrepare prepares every statement of the package on a migrated database.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	outboxtest.Prepare(t, outboxtest.NewDatabase(t).URL, retry.Statements("outbox"))
}
