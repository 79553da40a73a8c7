package relay_test

import (
	"strings"
	"testing"
	"time"
)

// TestStopUnderLoadPublishesNothingTwice stops relays while events come in.
func TestStopUnderLoadPublishesNothingTwice(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	published := s.countPublications()
	l := s.startLoad(6)
	for range 4 {
		p := s.start(func(c *relayConfig) { c.Lease = time.Minute })
		before := s.settled()
		s.eventually("progress", func() bool { return s.settled() >= before+300 })
		if err := p.stopAndWait(); err != nil {
			t.Errorf("run: %v", err)
		}
		if n := query[int](s, "SELECT count(*) FROM outbox.outbox_lane WHERE lease_owner IS NOT NULL"); n != 0 {
			t.Errorf("%d lanes were not handed back; the log:\n%s", n, p.logs)
		}
		if n := query[int](s, "SELECT count(*) FROM outbox.outbox_relay"); n != 0 {
			t.Errorf("%d pods count as alive", n)
		}
	}
	l.stop()
	s.start()
	s.wantLogInStream()
	events, repeated := published.events()
	if int64(events) != s.logged() || repeated != 0 {
		t.Errorf("%d events were published and %d publications repeated, want %d and 0", events, repeated, s.logged())
	}
	if n := s.settled(); n != s.logged() {
		t.Errorf("%d events settled, want %d", n, s.logged())
	}
}

func TestStopDuringABacklogPublishesNothingTwice(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	published := s.countPublications()
	for range 20 {
		s.stage("", 500)
	}
	for range 5 {
		p := s.start(func(c *relayConfig) { c.BatchSize = 20; c.Workers = 1; c.Lease = time.Minute })
		before := s.settled()
		s.eventually("progress", func() bool { return s.settled() >= before+500 })
		if err := p.stopAndWait(); err != nil {
			t.Errorf("run: %v", err)
		}
	}
	s.start()
	s.wantLogInStream()
	if events, repeated := published.events(); events != 10_000 || repeated != 0 {
		t.Errorf("%d events were published and %d publications repeated, want 10000 and 0", events, repeated)
	}
}

// stopTakes stops a pod and returns how long that took.
func stopTakes(t *testing.T, p *pod) time.Duration {
	t.Helper()
	start := time.Now()
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	return time.Since(start)
}

func TestStopWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start(func(c *relayConfig) { c.StopTimeout = 3 * time.Second })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	s.nats.Stop()
	s.stage("", 100)
	s.eventually("it waits for the broker", func() bool { return strings.Contains(p.logs.String(), "waiting for the broker") })
	if took := stopTakes(t, p); took > 3*time.Second+slack {
		t.Errorf("stop took %s", took)
	}
	if err := s.nats.Start(); err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	s.start()
	s.wantLogInStream()
}

func TestStopWhileTheBrokerIsSilentIsCut(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.StopTimeout = time.Second; c.AckTimeout = time.Minute })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	wire.holdReplies()
	s.stage("k", 10)
	s.eventually("an event is in flight", func() bool { return s.count() == 2 })
	if took := stopTakes(t, p); took < time.Second || took > time.Second+slack {
		t.Errorf("stop took %s, want the stop timeout of 1 s", took)
	}
	if n := s.settled(); n != 1 {
		t.Errorf("%d events settled, one of them acknowledged", n)
	}
	s.start()
	s.wantLogInStream()
}

func TestStopWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, nil)
	p := s.start(func(c *relayConfig) { c.StopTimeout = 2 * time.Second })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	s.stopDatabase(pg, "immediate")
	s.eventually("it waits for the database", func() bool { return strings.Contains(p.logs.String(), "waiting for the database") })
	if took := stopTakes(t, p); took > 2*time.Second+slack {
		t.Errorf("stop took %s", took)
	}
	s.startDatabase(pg)
	s.stage("k", 5)
	s.start()
	s.wantLogInStream()
}

// TestStopBeforeTheStart: a relay that still waits for its database can be stopped.
func TestStopBeforeTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	s, pg := newSetupIn(t, nil)
	s.stopDatabase(pg, "fast")
	p := s.start()
	s.eventually("it waits for the database", func() bool { return strings.Contains(p.logs.String(), "waiting for the database") })
	if took := stopTakes(t, p); took > slack {
		t.Errorf("stop took %s", took)
	}
}

// TestStopThatTakesLongerThanALeaseKeepsItsLanes: nobody takes a lane while its last batch
// is in flight.
func TestStopThatTakesLongerThanALeaseKeepsItsLanes(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	published := s.countPublications()
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.Lease = time.Second; c.StopTimeout = time.Minute; c.AckTimeout = time.Minute })
	s.stage("k", 1)
	s.eventually("the first event settled", func() bool { return s.settled() == 1 })
	wire.holdReplies()
	want := s.stage("k", 1)
	s.eventually("the event is in flight", func() bool { return published.of(want[0]) == 1 })
	p.stop()
	stopped := query[time.Time](s, "SELECT clock_timestamp()")
	s.start(func(c *relayConfig) { c.Lease = time.Second })
	s.eventually("three leases have passed", func() bool {
		return query[bool](s, "SELECT clock_timestamp() > $1::timestamptz + '3 s'", stopped)
	})
	if owner := query[string](s, "SELECT coalesce(lease_owner, '') FROM outbox.outbox_lane JOIN outbox.event_outbox USING (lane) WHERE event_id = $1", want[0]); owner != p.Owner() {
		t.Errorf("the lane of the event in flight is with %q", owner)
	}
	wire.resume()
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	s.wantLogInStream()
	if n := published.of(want[0]); n != 1 {
		t.Errorf("the event was published %d times", n)
	}
}
