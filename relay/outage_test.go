package relay_test

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var outageFor = flag.Duration("outage.for", 0, "how long the broker is away in the outage test; 0 takes 60 s, or 10 s with -short")

// TestBrokerOutageLosesNothingAndBurnsNothing is an outage of a minute in which 20,000 events
// are staged: they all arrive, none is counted as refused, and the relay waits quietly.
func TestBrokerOutageLosesNothingAndBurnsNothing(t *testing.T) {
	t.Parallel()
	outage := *outageFor
	if outage == 0 {
		outage = time.Minute
		if testing.Short() {
			outage = 10 * time.Second
		}
	}
	const events, parts = 20_000, 40
	s := newSetup(t)
	// The settings of production, but for the time until it says that it is not ready.
	c := s.startChild(func(c *relayConfig) {
		*c = relayConfig{Stream: streamName, UnreadyAfter: outage / 4}
	})
	s.eventually("ready", func() bool { return c.ready() == "" })
	s.stage("before", 10)
	s.eventually("the first events settled", func() bool { return s.settled() == 10 })

	s.nats.Stop()
	down := time.Now()
	linesBefore, cpuBefore := c.logs.lines(), c.cpu()
	every := time.NewTicker(outage / parts)
	defer every.Stop()
	for range parts {
		s.stage("", events/parts-10)
		s.stage("ordered", 10)
		<-every.C
	}
	lines, cpu, lasted := c.logs.lines()-linesBefore, c.cpu()-cpuBefore, time.Since(down)
	t.Logf("outage of %s: %d log lines, %s of processor time", lasted.Round(time.Millisecond), lines, cpu)
	if limit := 3 + 3*int(lasted/time.Minute+1); lines > limit {
		t.Errorf("%d log lines in an outage of %s, want %d at most:\n%s", lines, lasted, limit, c.logs)
	}
	if cpu > lasted/10 {
		t.Errorf("the relay used %s of processor time in an outage of %s", cpu, lasted)
	}
	if why := c.ready(); !strings.Contains(why, "broker") {
		t.Errorf("ready said %q in the outage, want the broker", why)
	}
	if n := s.settled(); n != 10 {
		t.Errorf("%d events settled in the outage", n)
	}

	if err := s.nats.Start(); err != nil {
		t.Fatalf("start NATS: %v", err)
	}
	s.wantLogInStream()
	if n := s.count(); n != events+10 {
		t.Errorf("the stream has %d messages, want %d", n, events+10)
	}
	for _, table := range []string{"outbox_retry", "outbox_dead_letter"} {
		if n := query[int](s, "SELECT count(*) FROM outbox."+table); n != 0 {
			t.Errorf("%d rows in %s after an outage", n, table)
		}
	}
	s.eventually("ready again", func() bool { return c.ready() == "" })
	if err := c.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if n := c.logs.lines(); n > 20 {
		t.Errorf("%d log lines in all:\n%s", n, c.logs)
	}
}

// TestDatabaseOutageCostsNoProcessorTime: a relay whose database is gone waits, and does not ask again
// as fast as it can.
func TestDatabaseOutageCostsNoProcessorTime(t *testing.T) {
	t.Parallel()
	const outage = 10 * time.Second
	s, pg := newSetupIn(t, nil)
	c := s.startChild(func(c *relayConfig) { *c = relayConfig{Stream: streamName, UnreadyAfter: time.Second} })
	s.stage("k", 10)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	s.stopDatabase(pg, "immediate")
	s.eventually("not ready", func() bool { return c.ready() != "" })
	start, lines, cpu := time.Now(), c.logs.lines(), c.cpu()
	s.eventually("some time has passed", func() bool { return time.Since(start) >= outage })
	lasted, used := time.Since(start), c.cpu()-cpu
	t.Logf("%s of processor time in %s without a database", used, lasted)
	if used > lasted/4 {
		t.Errorf("the relay used %s of processor time in %s without a database", used, lasted)
	}
	if n := c.logs.lines() - lines; n > 10 {
		t.Errorf("%d log lines in %s:\n%s", n, lasted, c.logs)
	}
	s.startDatabase(pg)
	s.stage("k", 10)
	s.wantLogInStream()
}

// TestBrokerRestartsUnderLoad restarts the broker again and again under load.
func TestBrokerRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	p := s.start()
	l := s.startLoad(4)
	for range 4 {
		before := s.count()
		s.eventually("progress", func() bool { return s.count() >= before+100 })
		s.nats.Stop()
		mark := l.committed.Load()
		s.eventually("more staged", func() bool { return l.committed.Load() >= mark+50 })
		if err := s.nats.Start(); err != nil {
			t.Fatalf("start NATS: %v", err)
		}
		s.eventually("the stream answers", s.streamAnswers)
	}
	l.stop()
	s.wantLogInStream()
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
}

// TestLostAcknowledgementsAreAskedForAgain cuts the connection with acknowledgements under way:
// events are in the stream, and the relay cannot know.
func TestLostAcknowledgementsAreAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	published := s.countPublications()
	s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.Workers = 16 })
	for round := range 3 {
		wire.holdReplies()
		s.stage("k", 5)
		s.stage("", 200)
		s.eventually("events in the stream", func() bool { return s.count() > 205*round+100 })
		wire.cut()
		wire.resume()
		s.eventually("all settled", func() bool { return s.settled() == int64(205*(round+1)) })
	}
	s.wantLogInStream()
	if _, repeated := published.events(); repeated < 100 {
		t.Errorf("%d publications were repeated, want those whose acknowledgements were lost", repeated)
	}
}

// TestSilentBrokerMakesOutcomesUnknown holds back every acknowledgement for longer than the ack timeout.
func TestSilentBrokerMakesOutcomesUnknown(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	attempts := s.countPublications()
	p := s.startOn(s.relayURL(), wire.url, func(c *relayConfig) { c.AckTimeout = 300 * time.Millisecond; c.UnreadyAfter = 500 * time.Millisecond })
	s.stage("k", 3)
	s.eventually("the first events settled", func() bool { return s.settled() == 3 })
	wire.hold()
	ids := s.stage("k", 3)
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	if n := s.settled(); n != 3 {
		t.Errorf("%d events settled without an acknowledgement", n)
	}
	wire.resume()
	s.eventually("all settled", func() bool { return s.settled() == 6 })
	s.eventually("ready", func() bool { return p.Ready() == nil })
	s.wantLogInStream()
	if n := attempts.of(ids[2]); n > attempts.of(ids[0]) {
		t.Errorf("the third event of the key was published %d times, the first %d times", n, attempts.of(ids[0]))
	}
}

func (s *setup) streamAnswers() bool {
	_, err := s.js.Stream(s.t.Context(), streamName)
	return err == nil
}
