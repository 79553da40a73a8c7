package retention_test

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// TestNothingToDoCostsNextToNothing: a pass that finds nothing to do writes nothing, and reads as much
// of a large log as of a small one, without statistics and without a vacuum.
func TestNothingToDoCostsNextToNothing(t *testing.T) {
	t.Parallel()
	// Transaction ids are counted for the whole cluster.
	pg := outboxtest.NewCluster(t, harness.PostgresOptions{Settings: map[string]string{"autovacuum": "off"}})
	s := setupOn(t, outboxtest.NewDatabaseIn(t, pg))
	slot := s.old()
	s.fill(slot, 200, 3) // overdue, and not drained
	s.fill((slot+3)%4, 200, 1)
	s.pass() // the first one looks for old records
	small, smallReady := s.cost(), s.costOfReady()
	s.fill(slot, 60_000, 3)
	s.fill((slot+3)%4, 60_000, 1)
	s.exec(`INSERT INTO outbox.outbox_retry (relay_group, lane, seq, event_id, work_kind)
		SELECT 'default', lane, seq, event_id, 'parked' FROM outbox.event_outbox WHERE slot = $1 ORDER BY seq DESC LIMIT 5000`, (slot+3)%4)
	large, largeReady := s.cost(), s.costOfReady()
	t.Logf("pages of a look: %d of a small log and %d of a large one; %d and %d when nothing speaks against it", small, large, smallReady, largeReady)
	if large > small+500 || largeReady > smallReady+500 { // the two slots have some 3,000 pages
		t.Errorf("a look reads %d pages of a small log and %d of a large one; %d and %d when nothing speaks against it", small, large, smallReady, largeReady)
	}

	xid := func() int64 { return query[int64](s, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint") }
	before := xid()
	for range 20 {
		if r := s.pass(); len(r.Refused) != 1 || r.Refused[0].Outcome != retention.Undrained {
			t.Fatalf("refused %+v", r.Refused)
		}
	}
	if n := xid() - before; n != 0 {
		t.Errorf("%d transactions of 20 passes wrote something", n)
	}
}

// costOfReady is the cost of a look that has to make every probe.
func (s *setup) costOfReady() int {
	s.t.Helper()
	s.settle()
	defer s.exec("UPDATE outbox.outbox_lane SET drained = '1:1:'")
	return s.cost()
}

// cost is how many pages a look touches.
func (s *setup) cost() int {
	s.t.Helper()
	s.exec("SELECT FROM outbox.retention_look()") // the session's caches
	text := query[string](s, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM outbox.retention_look()")
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		s.t.Fatalf("%v: %s", err, text)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
