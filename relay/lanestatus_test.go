package relay_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

func (s *setup) status() *relay.Status {
	s.t.Helper()
	found, err := relay.ReadStatus(s.t.Context(), s.db.Pool, "outbox", "default")
	if err != nil {
		s.t.Fatalf("read status: %v", err)
	}
	return found
}

// endLease ends the lease of a lane, if anybody has it.
func (s *setup) endLease(l relay.LaneStatus) bool {
	s.t.Helper()
	ended, err := relay.EndLease(s.t.Context(), s.db.Pool, "outbox", "default", l.Lane, l.Owner)
	if err != nil {
		s.t.Fatalf("end the lease of lane %d: %v", l.Lane, err)
	}
	return ended
}

// TestEndedLeasesLoseNothing takes all lanes away from two relays at work, again and again: the
// stream has every event, those of a key in their order, and each is settled once.
func TestEndedLeasesLoseNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	small := func(c *relayConfig) { c.BatchSize = 10 }
	s.start(small)
	s.start(small)
	s.awaitLanes(8, 8)
	l := s.startLoad(4)
	ended := 0
	for range 5 {
		s.awaitLanes(8, 8)
		for _, lane := range s.status().Lanes {
			if lane.Live && s.endLease(lane) {
				ended++
			}
		}
		before := s.settled()
		s.eventually("progress", func() bool { return s.settled() >= before+100 })
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
	if ended < 32 {
		t.Errorf("%d leases were ended, want at least those of all lanes twice", ended)
	}
}

// TestEndedLeaseDoesNotWaitForEver: somebody keeps the row of the lane, and whoever ends its lease is told.
func TestEndedLeaseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec(`INSERT INTO outbox.outbox_lane (relay_group, lane) SELECT 'default', 3 ON CONFLICT DO NOTHING`)
	s.exec(`UPDATE outbox.outbox_lane SET lease_owner = 'pod-a', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour' WHERE lane = 3`)
	tx := s.begin()
	outboxtest.Exec(t, tx, "SELECT FROM outbox.outbox_lane WHERE lane = 3 FOR UPDATE")
	ended, err := relay.EndLease(t.Context(), s.db.Pool, "outbox", "default", 3, "pod-a")
	var server *pgconn.PgError
	if ended || !errors.As(err, &server) || server.Code != "55P03" {
		t.Fatalf("ended %t, error %v", ended, err)
	}
	s.commit(tx)
	if ended, err = relay.EndLease(t.Context(), s.db.Pool, "outbox", "default", 3, "pod-a"); !ended || err != nil {
		t.Errorf("ended %t, error %v", ended, err)
	}
}

// TestEndedLeaseRefusesItsSettle: the batch of the old claim is published and not settled, and is settled
// once by the next claim, without a second copy.
func TestEndedLeaseRefusesItsSettle(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start(func(c *relayConfig) { c.Workers = 16; c.Lease = 10 * time.Minute }) // it renews nothing meanwhile
	s.awaitLanes(16)

	tx := s.noSettle()
	s.stage("k", 20)
	s.eventually("the events are in the stream", func() bool { return s.count() == 20 })
	var owned relay.LaneStatus
	for _, lane := range s.status().Lanes {
		if lane.Backlog > 0 {
			owned = lane
		}
	}
	if !owned.Live || owned.LeaseUntil.Before(time.Now().Add(5*time.Minute)) || owned.Drained == "" {
		t.Fatalf("lane %+v, want a live lease of minutes and a cursor", owned)
	}
	if !s.endLease(owned) {
		t.Fatal("the lease was not ended")
	}
	if s.endLease(owned) {
		t.Error("the lease was ended twice")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually("20 events settled", func() bool { return s.settled() == 20 })
	if n := s.count(); n != 20 {
		t.Errorf("the stream has %d messages, want 20: one copy of each event", n)
	}
	batches, err := relay.ReadLaneBatches(t.Context(), s.db.Pool, "outbox", "default", owned.Lane, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(batches) == 0 || batches[0].Stream != streamName || batches[0].SeqLast < batches[0].SeqFirst {
		t.Errorf("batches %+v, want those of lane %d", batches, owned.Lane)
	}
	waiting, err := relay.ReadLaneRetries(t.Context(), s.db.Pool, "outbox", "default")
	if err != nil {
		t.Fatal(err)
	}
	if len(waiting) != 16 || waiting[owned.Lane].Scheduled+waiting[owned.Lane].Parked != 0 {
		t.Errorf("retries %+v, want 16 lanes without any", waiting)
	}
}

// TestEndLeaseLeavesALaneThatChangedHands: only the owner that was seen loses it.
func TestEndLeaseLeavesALaneThatChangedHands(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	lane := s.status().Lanes[3]
	if lane.Owner != "" || !lane.LeaseUntil.IsZero() || s.endLease(lane) {
		t.Fatalf("lane %+v, want one that nobody has and nobody loses", lane)
	}
	s.exec("UPDATE outbox.outbox_lane SET lease_owner = 'other', lease_token = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 h' WHERE lane = 3")
	lane.Owner = "pod-a"
	if s.endLease(lane) {
		t.Error("the lease of another owner was ended")
	}
	lane.Owner = "other"
	if !s.endLease(lane) {
		t.Error("the lease was not ended")
	}
}
