package events_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/events"
)

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for _, views := range []bool{true, false} {
		outboxtest.Prepare(t, db.URL, events.StatementTexts("outbox", views, views))
	}
}

func TestUnknownGroup(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	if _, err := events.New(t.Context(), s.db.Pool, "outbox", "other"); !errors.Is(err, events.ErrNoGroup) {
		t.Errorf("error %v, want ErrNoGroup", err)
	}
}

// TestPagedBacklogIsPublishedUpToItsPosition: what is settled of a backlog is in target up to pos, while
// drained has nothing of it.
func TestPagedBacklogIsPublishedUpToItsPosition(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", "a", "b", "c")
	s.exec(`UPDATE outbox.outbox_lane l SET target = pg_current_snapshot(), pos = e.seq
	          FROM outbox.event_outbox e WHERE e.event_id = 'b' AND l.lane = e.lane`)
	s.stage("k", "d") // of no snapshot, with a number beyond pos
	want := []string{"d waiting", "c waiting", "b published", "a published"}
	if diff := cmp.Diff(want, s.states(events.Filter{})); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], s.states(events.Filter{State: events.Waiting, Limit: 1})); diff != "" {
		t.Errorf("one that waits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], s.states(events.Filter{State: events.Published})); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// TestTheLogHasForgotten: only its history is left of a dead letter that was requeued and published, and of
// one that was discarded.
func TestTheLogHasForgotten(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", "mended", "given up")
	s.exec(`INSERT INTO outbox.outbox_dead_letter_history
	          (dead_letter_id, seq, attempts, requeue_epoch, lane, relay_group, event_id, action, actor, reason)
	        SELECT e.seq, e.seq, 3, 0, e.lane, 'default', e.event_id, a.action, 'op', 'why'
	          FROM outbox.event_outbox e,
	               (VALUES (1, 'mended', 'dead-lettered'), (2, 'given up', 'dead-lettered'), (3, 'mended', 'requeued'), (4, 'given up', 'discarded')) AS a (n, id, action)
	         WHERE e.event_id = a.id ORDER BY a.n`)
	if e := s.find("given up"); e.State != events.Discarded || !e.InLog() {
		t.Errorf("event %+v, want it discarded and in the log", e)
	}
	s.exec("TRUNCATE outbox.event_outbox")
	for id, want := range map[string]events.State{"mended": events.Published, "given up": events.Discarded} {
		e := s.find(id)
		if e.State != want || e.InLog() || e.StagedAt != nil {
			t.Errorf("event %+v, want it %s and not in the log", e, want)
		}
		if _, err := s.Data(t.Context(), e); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("payload of %s: %v, want ErrNotFound", id, err)
		}
	}
}

// TestBatchesThatMayHaveAnEvent: ranges overlap when transactions did; one that is the event's alone wins.
func TestBatchesThatMayHaveAnEvent(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.stage("k", "a", "b", "c")
	s.exec("UPDATE outbox.outbox_lane SET drained = pg_current_snapshot()")
	batch := func(first, last, events int) {
		t.Helper()
		s.exec(`INSERT INTO outbox.outbox_batch (relay_group, lane, events, seq_first, seq_last, stream, stream_seq_first, stream_seq_last)
		        SELECT 'default', e.lane, $3::int, $1::bigint, $2::bigint, 'S', 7, 9 FROM outbox.event_outbox e WHERE e.event_id = 'a'`, first, last, events)
	}
	b := s.find("b")
	fate := func(refused bool) (ranges []int64) {
		t.Helper()
		found, err := s.Fate(t.Context(), b, refused)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range found.Batches {
			ranges = append(ranges, b.SeqFirst, b.SeqLast)
		}
		return ranges
	}
	want := func(got []int64, want ...int64) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ranges (-want +got):\n%s", diff)
		}
	}
	want(fate(false))
	batch(1, 3, 2)
	batch(3, 9, 2)
	want(fate(false), 1, 3)
	batch(2, 4, 2)
	want(fate(false), 1, 3, 2, 4)
	want(fate(true)) // a batch of several is not that of an event that was refused
	batch(2, 2, 1)
	want(fate(false), 2, 2)
	want(fate(true), 2, 2)
}

// TestListEndsWhenItHasFoundEnough: the newest events come from the ends of the lanes, through the view
// and the table, and not from all of the log.
func TestListEndsWhenItHasFoundEnough(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec(`INSERT INTO outbox.event_outbox (event_id, source, type, data) SELECT n::text, '/test', 'test.happened', 'x' FROM generate_series(1, 60000) AS n`)
	s.exec("ANALYZE outbox.event_outbox")
	for _, views := range []bool{true, false} {
		sql := events.StatementTexts("outbox", views, views)["list"]
		var text []byte
		err := s.db.Pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeExec, "default", nil, nil, nil, nil, nil, 50).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct{ Plan planNode }
		if err := json.Unmarshal(text, &plans); err != nil {
			t.Fatal(err)
		}
		if rows := plans[0].Plan.logRows(); rows < 50 || rows > 16*50+100 {
			t.Errorf("views %t: %d rows of the log are read, want those of 50 of each lane at most:\n%s", views, rows, text)
		}
	}
}

// planNode is a node of a plan that was run.
type planNode struct {
	Relation string     `json:"Relation Name"`
	Rows     float64    `json:"Actual Rows"`
	Loops    float64    `json:"Actual Loops"`
	Removed  float64    `json:"Rows Removed by Filter"`
	Plans    []planNode `json:"Plans"`
}

// logRows counts the rows of the log that the plan has read.
func (n *planNode) logRows() int {
	rows := 0
	if strings.HasPrefix(n.Relation, "event_outbox_") {
		rows = int((n.Rows + n.Removed) * n.Loops)
	}
	for i := range n.Plans {
		rows += n.Plans[i].logRows()
	}
	return rows
}
