package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestDeadDatabaseConnectionsAreGivenUp: nobody says that they are dead, and there are several.
// The lanes stay, because the steward needs one lost connection to notice and no more.
func TestDeadDatabaseConnectionsAreGivenUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.relayURL())
	const lease = 12 * time.Second
	p := s.startOn(wire.url, s.nats.URL(), func(c *relayConfig) { c.Lease = lease })
	s.stage("", 50)
	s.eventually("50 events settled", func() bool { return s.settled() == 50 })
	wire.lose()
	start := time.Now()
	s.stage("", 50)
	// A lease until a statement is given up, and until its connection is closed, when all
	// places of the pool were busy.
	s.eventually("100 events settled", func() bool { return s.settled() == 100 })
	t.Logf("drained after %s", time.Since(start))
	if strings.Contains(p.logs.String(), "lanes lost") {
		t.Errorf("the relay lost its lanes:\n%s", p.logs)
	}
	s.wantLogInStream()
}

// TestDatabaseThatStallsLosesNothing holds the connections up for longer than a lease, while
// another pod takes the lanes.
func TestDatabaseThatStallsLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.relayURL())
	short := func(c *relayConfig) { c.Lease = time.Second; c.BatchSize = 10 }
	s.startOn(wire.url, s.nats.URL(), short)
	other := s.start(short)
	s.awaitLanes(8, 8)
	l := s.startLoad(4)
	for range 3 {
		before := s.settled()
		s.eventually("progress", func() bool { return s.settled() >= before+100 })
		wire.hold()
		s.eventually("the other pod has all lanes", func() bool { return s.lanes()[other.Owner()] == 16 })
		wire.resume()
		s.awaitLanes(8, 8)
	}
	l.stop()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		t.Errorf("%d events settled, want %d, each once", n, want)
	}
}

// TestDeadBrokerConnectionIsGivenUp: its pings are not answered.
func TestDeadBrokerConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	wire := newLink(t, s.nats.URL())
	s.startOn(s.relayURL(), wire.url)
	s.stage("k", 5)
	s.eventually("5 events settled", func() bool { return s.settled() == 5 })
	wire.lose()
	start := time.Now()
	s.stage("k", 5)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })
	t.Logf("drained after %s", time.Since(start))
	s.wantLogInStream()
}

// TestBrokerThatDeniesIsAnOutage takes away the right to publish, then the user, and gives
// them back: nothing is lost, the log says what it is, and does not say it a thousand times.
func TestBrokerThatDeniesIsAnOutage(t *testing.T) {
	t.Parallel()
	may := &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"events.>", "$JS.API.>"}}}
	mayNot := &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"$JS.API.>"}}}
	rights, password := may, "right"
	s := &setup{t: t, db: outboxtest.NewDatabase(t)}
	s.nats = outboxtest.NewNATS(t, func(o *harness.NATSOptions) {
		o.Configure = func(o *server.Options) {
			o.Users = []*server.User{{Username: "admin", Password: "admin"}, {Username: "relay", Password: password, Permissions: rights}}
		}
	})
	nc, err := nats.Connect(s.nats.URL(), nats.UserInfo("admin", "admin"), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatalf("connect to NATS: %v", err)
	}
	t.Cleanup(nc.Close)
	if s.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	s.createStream(streamName, "events.>")
	restart := func() {
		s.nats.Stop()
		if err := s.nats.Start(); err != nil {
			t.Fatalf("start NATS: %v", err)
		}
		s.eventually("the stream answers", s.streamAnswers)
	}

	child := &setup{t: t, db: s.db, nats: s.nats, user: "relay:right@"}
	c := child.startChild(func(c *relayConfig) { c.AckTimeout = 200 * time.Millisecond })
	s.stage("k", 10)
	s.eventually("10 events settled", func() bool { return s.settled() == 10 })

	rights = mayNot
	restart()
	s.stage("", 500)
	s.eventually("the log says what is wrong", func() bool {
		return strings.Contains(strings.ToLower(c.logs.String()), "permissions violation")
	})
	password = "wrong"
	restart()
	s.stage("", 10)
	s.eventually("not ready", func() bool { return c.ready() != "" })
	rights, password = may, "right"
	restart()
	s.wantLogInStream()
	if n := c.logs.lines(); n > 30 {
		t.Errorf("%d log lines:\n%s", n, c.logs)
	}
}
