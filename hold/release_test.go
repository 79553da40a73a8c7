package hold_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// Several writers stage at once in many transactions, some of which roll back. What
// the release puts into the log is every committed event, in the order of staging.
func TestReleaseIsWholeAndInStagingOrder(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	var writers errgroup.Group
	for w := range 4 {
		writers.Go(func() error {
			for n := range 10 {
				err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error {
					for k := range 3 {
						if err := stage(t.Context(), tx, b.hold, names(fmt.Sprintf("w%d-%02d-%d", w, n, k), 2)...); err != nil {
							return err
						}
					}
					if n%5 == 4 {
						return errUndone
					}
					return nil
				})
				if err != nil && !errors.Is(err, errUndone) {
					return err
				}
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatalf("stage: %v", err)
	}
	staged := column[string](t, b.Pool, `SELECT event_id FROM outbox.event_outbox ORDER BY seq`)
	if len(staged) != 4*8*6 {
		t.Fatalf("%d events staged, want %d", len(staged), 4*8*6)
	}

	got, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	want := hold.Answer{State: hold.Released, MaxGeneration: 1, Released: int64(len(staged)), Changed: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(staged, b.log(t)); diff != "" {
		t.Errorf("log against staging order (-staged +log):\n%s", diff)
	}
}

var errUndone = errors.New("undone")

// A cursor may have passed the old positions long ago, so the release gives new ones,
// after everything that was published in between, and in its own transaction.
func TestReleasedEventsEnterTheLogAsNew(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, names("held", 10)...)
	for _, id := range names("live", 10) {
		read[string](t, b.Pool, `SELECT outbox.publish('/test', 'thing.made', id => $1)`, id)
	}
	before := read[string](t, b.Pool, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text`)
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff(append(names("live", 10), names("held", 10)...), b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	const old = `SELECT count(*) FROM outbox.event_outbox WHERE hold_operation_id IS NOT NULL AND tx < $1::xid8`
	if n := read[int](t, b.Pool, old, before); n != 0 {
		t.Errorf("%d released events have a transaction from before the release", n)
	}
}

// Held rows may have waited in an old retention slot, which is about to be emptied.
func TestReleasedEventsMoveToThePresentSlot(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, names("e", 5)...)
	const present = `SELECT (floor(extract(epoch from clock_timestamp()) / 86400)::bigint % 4)::smallint`
	if _, err := b.Pool.Exec(t.Context(), `UPDATE outbox.event_outbox SET slot = (slot + 2) % 4`); err != nil {
		t.Fatalf("move to another slot: %v", err)
	}
	before := read[int16](t, b.Pool, present)
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	after := read[int16](t, b.Pool, present) // differs when midnight came between
	const elsewhere = `SELECT count(*) FROM outbox.event_outbox WHERE slot NOT IN ($1, $2)`
	if n := read[int](t, b.Pool, elsewhere, before, after); n != 0 {
		t.Errorf("%d of 5 released events are not in the present slot", n)
	}
	if diff := cmp.Diff(names("e", 5), b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestReleaseChangesNoByteOfAnEvent(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	body := make([]byte, 256)
	for i := range body {
		body[i] = byte(i)
	}
	read[string](t, b.Pool, `SELECT outbox.publish_held($1, 1, '/träger?x=1', 'person.created', $2, id => 'ïd "1" \', subject => 'ü/1',
		"time" => '2026-11-29T10:00:00.123456+02:00', datacontenttype => 'application/octet-stream', dataschema => 'https://example.com/s#1',
		partitionkey => 'schlüssel', extensions => '{"a1": "wert\\\\ \"q\"", "b": true, "n": -2147483648}')`, b.hold.Operation.String(), body)
	read[string](t, b.Pool, `SELECT outbox.publish_held($1, 1, '/s', 't', NULL, id => 'bare', datacontenttype => NULL)`, b.hold.Operation.String())
	read[string](t, b.Pool, `SELECT outbox.publish_held($1, 1, '/s', 't', '', id => 'empty')`, b.hold.Operation.String())

	const everything = `SELECT to_jsonb(e) - 'tx' - 'seq' - 'slot' FROM outbox.event_outbox e ORDER BY seq`
	rowsBefore, before := column[map[string]any](t, b.Pool, everything), outboxtest.Staged(t, b.Pool)
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff(rowsBefore, column[map[string]any](t, b.Pool, everything)); diff != "" {
		t.Errorf("rows apart from their position (-before +after):\n%s", diff)
	}
	for i := range before {
		before[i].Held = false
	}
	if diff := cmp.Diff(before, outboxtest.Staged(t, b.Pool)); diff != "" {
		t.Errorf("events (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(body, before[0].Data); diff != "" {
		t.Errorf("body (-staged +read):\n%s", diff)
	}
}

// Also the operation and the generation stay: held means without a position.
func TestReleaseKeepsWhereAnEventCameFrom(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "e")
	if _, err := hold.Release(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	e := outboxtest.Staged(t, b.Pool)[0]
	if e.Held || e.Operation != b.hold.Operation.String() || e.Generation != 1 {
		t.Errorf("held %v under operation %q generation %d, want released under %v", e.Held, e.Operation, e.Generation, b.hold)
	}
}

func TestReleaseMovesNoOtherGeneration(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	other := outbox.Hold{Operation: uuid.New(), Generation: 1}
	b.register(t, other)
	b.stage(t, b.Pool, other, "other")
	b.stage(t, b.Pool, b.hold, "first")
	b.register(t, b.generation(2))
	b.stage(t, b.Pool, b.generation(2), "second")
	if _, err := hold.Release(t.Context(), b.Pool, b.generation(2), "test"); err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff([]string{"second"}, b.log(t)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestReleaseAgainGivesTheSameAnswerAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, names("e", 3)...)
	first, err := hold.Release(t.Context(), b.Pool, b.hold, "first", hold.Because("done"))
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	state, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	rows := column[string](t, b.Pool, `SELECT e::text FROM outbox.event_outbox e ORDER BY seq`)

	again, err := hold.Release(t.Context(), b.Pool, b.hold, "second", hold.Because("again"))
	if err != nil {
		t.Fatalf("release again: %v", err)
	}
	first.Changed = false
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("answers (-first +again):\n%s", diff)
	}
	unchanged, err := hold.State(t.Context(), b.Pool, b.hold)
	if err != nil {
		t.Fatalf("state: %v", err)
	}
	if diff := cmp.Diff(state, unchanged); diff != "" {
		t.Errorf("state (-before +after the second release):\n%s", diff)
	}
	if diff := cmp.Diff(rows, column[string](t, b.Pool, `SELECT e::text FROM outbox.event_outbox e ORDER BY seq`)); diff != "" {
		t.Errorf("events (-before +after the second release):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"register", "release"}, b.auditActions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// The participant's own transaction failed, but the operation was completed: there is
// nothing to send, and that is an answer and not an error.
func TestReleaseAfterStagingRolledBackReleasesNothing(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	tx := b.begin(t, pgx.TxOptions{})
	b.stage(t, tx, b.hold, "e")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatalf("roll back: %v", err)
	}
	got, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
	if err != nil {
		t.Fatalf("release: %v", err)
	}
	if diff := cmp.Diff(hold.Answer{State: hold.Released, MaxGeneration: 1, Changed: true}, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if log := b.log(t); len(log) != 0 {
		t.Errorf("log has %v", log)
	}
}

func TestReleaseOfAnUnknownGenerationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationUnknown, b.hold, "unknown")
	if n := read[int](t, b.Pool, `SELECT count(*) FROM outbox.hold_operation`); n != 0 {
		t.Errorf("the refused release left %d operations", n)
	}
}

func TestReleaseAfterCancelIsRefusedWithTheState(t *testing.T) {
	t.Parallel()
	b := setupActive(t)
	b.stage(t, b.Pool, b.hold, "e")
	if _, err := hold.Cancel(t.Context(), b.Pool, b.hold, "test"); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	_, err := hold.Release(t.Context(), b.Pool, b.hold, "test")
	wantRefused(t, err, outbox.ErrGenerationCancelled, b.hold, "cancelled")
	if log := b.log(t); len(log) != 0 {
		t.Errorf("log has %v", log)
	}
}
