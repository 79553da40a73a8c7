package retention_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// condition is something that forbids emptying a slot, and what takes it away.
type condition struct {
	name    string
	outcome retention.Outcome
	forbid  func(s *setup, slot int16)
	allow   func(s *setup, slot int16)
}

var conditions = []condition{
	{
		name: "an event is not drained", outcome: retention.Undrained,
		forbid: func(s *setup, slot int16) { s.fill(slot, 1, 3) },
		allow:  func(s *setup, _ int16) { s.settle() },
	},
	{
		// The rest of a batch that was settled in part.
		name: "a backlog is paged", outcome: retention.Undrained,
		forbid: func(s *setup, slot int16) {
			s.exec("UPDATE outbox.outbox_lane SET drained = '1:1:'")
			s.exec("UPDATE outbox.outbox_lane SET target = pg_current_snapshot(), pos = (SELECT min(seq) FROM outbox.event_outbox)")
		},
		allow: func(s *setup, _ int16) { s.settle() },
	},
	{
		name: "a transaction that was running is not drained", outcome: retention.Undrained,
		forbid: func(s *setup, slot int16) {
			// Its id is below xmax of every cursor, and in their list of running ones.
			tx := s.begin()
			outboxtest.Exec(s.t, tx, fillSQL, slot, 1, 3.0)
			xmin := outboxtest.One[int64](s.t, tx, "SELECT pg_current_xact_id()::text::bigint")
			s.exec("SELECT pg_current_xact_id()")
			s.settle()
			if listed := query[int64](s, "SELECT min(pg_snapshot_xmin(drained)::text::bigint) FROM outbox.outbox_lane"); listed > xmin {
				s.t.Fatalf("the cursors do not list transaction %d", xmin)
			}
			if err := tx.Commit(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
		},
		allow: func(s *setup, _ int16) { s.settle() },
	},
	{
		name: "a second group is behind", outcome: retention.Undrained,
		forbid: func(s *setup, _ int16) {
			s.exec(`INSERT INTO outbox.outbox_lane (relay_group, lane) SELECT 'mirror', lane FROM outbox.outbox_lane`)
		},
		allow: func(s *setup, _ int16) {
			s.exec("UPDATE outbox.outbox_lane SET drained = pg_current_snapshot() WHERE relay_group = 'mirror'")
		},
	},
	{
		name: "a group lacks a lane", outcome: retention.Lanes,
		forbid: func(s *setup, _ int16) {
			s.exec("INSERT INTO outbox.outbox_lane (relay_group, lane, drained) SELECT 'mirror', n, pg_current_snapshot() FROM generate_series(0, 14) AS n")
		},
		allow: func(s *setup, _ int16) {
			s.exec("INSERT INTO outbox.outbox_lane (relay_group, lane, drained) VALUES ('mirror', 15, pg_current_snapshot())")
		},
	},
	{
		name: "there is no group", outcome: retention.Lanes,
		forbid: func(s *setup, _ int16) { s.exec("DELETE FROM outbox.outbox_lane") },
		allow: func(s *setup, _ int16) {
			s.exec("INSERT INTO outbox.outbox_lane (relay_group, lane, drained) SELECT 'default', n, pg_current_snapshot() FROM generate_series(0, 15) AS n")
		},
	},
	{
		name: "an event waits for its retry", outcome: retention.Waiting,
		forbid: func(s *setup, slot int16) {
			s.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind)
				SELECT 'default', lane, seq, event_id, 'parked' FROM outbox.event_outbox WHERE slot = $1 LIMIT 1`, slot)
		},
		allow: func(s *setup, _ int16) { s.exec("DELETE FROM outbox.outbox_retry") },
	},
	{
		name: "an event waits in another group, and then has a copy", outcome: retention.Waiting,
		forbid: func(s *setup, slot int16) {
			s.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind)
				SELECT 'mirror', lane, seq, event_id, 'parked' FROM outbox.event_outbox WHERE slot = $1 LIMIT 1`, slot)
		},
		allow: func(s *setup, _ int16) {
			s.exec(`INSERT INTO outbox.outbox_requeued (relay_group, lane, seq, staged_at, event_id, source, type, extensions)
				SELECT r.relay_group, e.lane, e.seq, e.staged_at, e.event_id, e.source, e.type, e.extensions
				  FROM outbox.outbox_retry r JOIN outbox.event_outbox e ON e.lane = r.lane AND e.seq = r.seq`)
		},
	},
	{
		name: "the newest event is young", outcome: retention.Young,
		forbid: func(s *setup, slot int16) { s.fill(slot, 1, 1.9); s.settle() },
		allow: func(s *setup, slot int16) {
			s.exec("UPDATE outbox.event_outbox SET staged_at = staged_at - interval '1 day' WHERE slot = $1", slot)
		},
	},
	{
		name: "the database came from another cluster", outcome: retention.Foreign,
		forbid: func(s *setup, _ int16) { s.exec("UPDATE outbox.holdfast_schema SET system_identifier = 42") },
		allow: func(s *setup, _ int16) {
			s.exec("UPDATE outbox.holdfast_schema SET system_identifier = (pg_control_system()).system_identifier")
		},
	},
	{
		name: "a cursor is from the future", outcome: retention.Foreign,
		forbid: func(s *setup, _ int16) {
			s.exec("UPDATE outbox.outbox_lane SET drained = '9000000000:9000000000:' WHERE lane = 3")
		},
		allow: func(s *setup, _ int16) { s.settle() },
	},
	{
		name: "the generation of a held event is being decided", outcome: retention.Held,
		forbid: func(s *setup, slot int16) {
			s.hold(s.register(), 2)
			s.exec("UPDATE outbox.event_outbox SET slot = $1, staged_at = clock_timestamp() - interval '3 days' WHERE tx IS NULL", slot)
			deciding := s.begin()
			outboxtest.Exec(s.t, deciding, "SELECT FROM outbox.hold_generation FOR UPDATE")
			s.t.Cleanup(func() { s.tryRollback(deciding) })
			s.held = deciding
		},
		allow: func(s *setup, _ int16) { s.tryRollback(s.held) },
	},
}

// TestEachConditionForbids sets up a slot that may be emptied but for one thing, sees it kept for that
// reason, takes the thing away, and sees it emptied.
func TestEachConditionForbids(t *testing.T) {
	t.Parallel()
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			slot := s.old()
			s.fill(slot, 40, 3)
			s.settle()
			c.forbid(s, slot)
			s.keeps(slot, c.outcome)
			s.keeps(slot, c.outcome)
			c.allow(s, slot)
			s.empties(slot)
		})
	}
}

// TestTheCurrentSlotStays, however old its events are.
func TestTheCurrentSlotStays(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for {
		current := query[int16](s, "SELECT "+now)
		s.fill(current, 5, 30)
		s.settle()
		r := s.pass()
		if query[int16](s, "SELECT "+now) != current {
			continue // midnight passed
		}
		if len(r.Emptied) != 0 || s.in(current) < 5 {
			t.Errorf("emptied %+v", r.Emptied)
		}
		return
	}
}

// TestConditionsAreJudgedAgainUnderTheLock: what was committed between the first look and the lock is
// seen, also by a caller whose own statement began before it.
func TestConditionsAreJudgedAgainUnderTheLock(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 5, 3)
	s.settle()
	token := s.claim("pod-a", hour)
	late := s.begin()
	outboxtest.Exec(t, late, fillSQL, slot, 1, 3.0)
	if outcome, why := s.rotate(token, slot); outcome != "busy" || why == "" {
		t.Fatalf("outcome %s %s while a producer is in the slot", outcome, why)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if outcome, _ := s.rotate(token, slot); outcome != "undrained" {
		t.Fatalf("outcome %s after the producer committed", outcome)
	}
	s.settle()
	if outcome := s.rotated(token, slot); outcome != "emptied" {
		t.Fatalf("outcome %s after it was drained", outcome)
	}
}

// TestASnapshotFromBeforeIsRefused: at repeatable read the conditions would be judged by what was
// there before the lock.
func TestASnapshotFromBeforeIsRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	token := s.claim("pod-a", hour)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		err := pgx.BeginTxFunc(t.Context(), s.db.Pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "SELECT outbox.retention_rotate($1::text::uuid, $2)", token, slot)
			return err
		})
		if sqlState(err) != "HF002" {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// TestAProducerThatCommitsWhileTheLockIsAwaited: the first look finds nothing against it, and what is
// committed before the lock is had is found under it. Attempts that run out of their 50 ms prove
// nothing, so there are many.
func TestAProducerThatCommitsWhileTheLockIsAwaited(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	slot := s.old()
	s.fill(slot, 5, 3)
	token := s.claim("pod-a", hour)
	outcomes := map[string]int{}
	for attempt := 1; attempt <= 40; attempt++ {
		s.settle()
		producer := s.begin()
		outboxtest.Exec(t, producer, fillSQL, slot, 1, 3.0)
		pid := int(producer.Conn().PgConn().PID())
		ended := make(chan string, 1)
		go func() {
			outcome, _ := s.rotate(token, slot)
			ended <- outcome
		}()
		outcome := ""
		for waits := false; !waits && outcome == ""; {
			select {
			case outcome = <-ended:
			default:
				waits = query[bool](s, "SELECT EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted AND $1 = ANY (pg_blocking_pids(l.pid)))", pid)
			}
		}
		if err := producer.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if outcome == "" {
			outcome = <-ended
		}
		outcomes[outcome]++
		if err := producer.Conn().Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.in(slot); n != 5+attempt {
			t.Fatalf("%d events are left after outcome %s, want %d", n, outcome, 5+attempt)
		}
	}
	t.Logf("outcomes %v", outcomes)
}
