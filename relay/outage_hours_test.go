package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// Two hours in which the broker takes nothing, compressed by settings. What is counted in an
// outage is how often a relay could have given up, and of that there is as much as in two
// hours with the defaults:
//
//	                          default   in 2 h   here     in 15 s
//	longest pause (RetryMax)  5 s       1,440    10 ms    1,500
//	dedup window              2 min     60       250 ms   60
//	all retries of a refusal  8.3 min   14       0.1 s    150
//	lease                     10 s      720      3 s      5
//
// A lease cannot be shorter than 1 s, and the broker has no part in it: -outage.for=36m has as
// many of them. The ack timeout is as ever where no answer is outstanding; where a server
// stands that has no leader it is 500 ms instead of 5 s, and the window is the default.
const twoHours = 15 * time.Second

// outageKind is a way in which the broker takes nothing.
type outageKind struct {
	name       string
	window     time.Duration
	ackTimeout time.Duration
	begin      func(s *setup) (heal func())
	replicas   int
}

var outageKinds = []outageKind{
	{name: "the broker is gone", window: twoHours / 60, ackTimeout: 20 * time.Second, begin: func(s *setup) func() {
		s.nats.Stop()
		return func() {
			if err := s.nats.Start(); err != nil {
				s.t.Fatalf("start NATS: %v", err)
			}
		}
	}},
	{name: "the stream is missing", window: twoHours / 60, ackTimeout: 20 * time.Second, begin: func(s *setup) func() {
		s.deleteStream()
		return func() { s.createStreamWith(twoHours/60, 1) }
	}},
	{name: "the stream has no leader", window: 2 * time.Minute, ackTimeout: 500 * time.Millisecond, replicas: 3},
}

// TestTwoHoursOfOutageCountNothing: nothing is attempted in vain, nothing is given up, nothing waits
// for a retry, and everything arrives once and in order when it is over.
func TestTwoHoursOfOutageCountNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range outageKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := &setup{t: t, db: outboxtest.NewDatabase(t)}
			var url string
			if kind.replicas > 1 {
				url, kind.begin = s.clustered()
			} else {
				s.nats = outboxtest.NewNATS(t)
				url = s.nats.URL()
				s.js = outboxtest.NewStream(t, url, "UNUSED")
			}
			s.createStreamWith(kind.window, max(kind.replicas, 1))
			p := s.startOn(s.db.URL, url, func(c *relayConfig) {
				c.RetryMin, c.RetryMax, c.AckTimeout, c.Lease = time.Millisecond, 10*time.Millisecond, kind.ackTimeout, 3*time.Second
				c.Retry = retry.Policy{MaxRetries: 12, Initial: time.Millisecond, Max: 10 * time.Millisecond}
			})
			s.endure(p, kind)
		})
	}
}

// endure stages events all through an outage, and wants none to count as refused.
func (s *setup) endure(p *pod, kind outageKind) {
	t := s.t
	t.Helper()
	if kind.name != "the stream is missing" { // which would take them along
		s.stage("k", 10)
		s.eventually("the first events settled", func() bool { return s.settled() == 10 })
	}
	before := s.settled()
	heal := kind.begin(s)
	lasts := twoHours
	if *outageFor != 0 {
		lasts = *outageFor
	}
	const parts = 30
	every := time.NewTicker(lasts / parts)
	defer every.Stop()
	for range parts {
		s.stage("k", 3)
		s.stage("other", 3)
		s.stage("", 40)
		<-every.C
	}
	s.eventually("the relay says that it waits", func() bool { return strings.Contains(p.logs.String(), "waiting for the broker") })
	if n := s.settled(); n != before {
		t.Errorf("%d events are settled in the outage", n-before)
	}
	s.nothingWaits()
	heal()
	s.eventually("everything is settled", func() bool { return s.settled() == s.logged() })
	s.eventually("the stream can be read", func() bool { _, err := readStream(t.Context(), s.js); return err == nil })
	s.compareWithLog()
	s.nothingWaits()
	if n, limit := strings.Count(p.logs.String(), "waiting for the broker"), 5*int(lasts/time.Minute+2); n > limit {
		t.Errorf("%d log lines say that it waits, want %d at most:\n%s", n, limit, p.logs)
	}
	if err := p.stopAndWait(); err != nil {
		t.Errorf("run: %v", err)
	}
}

// nothingWaits wants no attempt and no dead letter to be counted.
func (s *setup) nothingWaits() {
	s.t.Helper()
	for _, table := range []string{"outbox_retry", "outbox_dead_letter", "outbox_dead_letter_history"} {
		if n := query[int](s, "SELECT count(*) FROM outbox."+table); n != 0 {
			s.t.Errorf("%d rows in %s: an outage was taken for a refusal", n, table)
		}
	}
}

func (s *setup) createStreamWith(window time.Duration, replicas int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cfg := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Duplicates: window, Replicas: replicas}
	if _, err := s.js.CreateStream(ctx, cfg); err != nil {
		s.t.Fatalf("create stream: %v", err)
	}
}

// clustered starts three servers. The outage is the death of two of them: the third stands, and
// the stream has no leader.
func (s *setup) clustered() (url string, begin func(*setup) func()) {
	t := s.t
	t.Helper()
	c, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the cluster: %v", err)
		}
	})
	url = strings.Join(c.URLs(), ",")
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if s.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return url, func(s *setup) func() {
		for _, node := range c.Nodes[:2] {
			node.Kill()
		}
		return func() {
			for _, node := range c.Nodes[:2] {
				if err := node.Start(); err != nil {
					s.t.Fatalf("start a server: %v", err)
				}
			}
			ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
			defer cancel()
			if err := errors.Join(c.AwaitJetStream(ctx), c.AwaitStream(ctx, streamName)); err != nil {
				s.t.Fatalf("await the stream: %v", err)
			}
		}
	}
}
