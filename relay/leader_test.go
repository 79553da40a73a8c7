package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// TestLeaderIsKilledAmidPublications kills the leader of a replicated stream under load, again and
// again: whatever the next one says of ids that it may or may not have, what is settled is
// in the stream, once, and in order.
func TestLeaderIsKilledAmidPublications(t *testing.T) {
	t.Parallel()
	s, cluster := newSetupOnCluster(t)
	p := s.startOn(s.db.URL, cluster.URLs()[0]+","+cluster.URLs()[1]+","+cluster.URLs()[2])
	l := s.startLoad(4)
	for range 3 {
		s.awaitMoreSettled(100)
		leader := s.leaderOf(cluster)
		leader.Kill()
		s.awaitMoreSettled(100)
		if err := leader.Start(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.AwaitStream(t.Context(), streamName); err != nil {
			t.Fatal(err)
		}
	}
	l.stop()
	s.wantSettledInStream(p)
}

// TestLeaderStepsDownBesideASubscriber: a plain subscriber hides from the server that nobody leads, so
// that the publication is not answered at all. No acknowledgement is taken from anybody but
// the stream, and all of it goes on under the next leader.
func TestLeaderStepsDownBesideASubscriber(t *testing.T) {
	t.Parallel()
	s, cluster := newSetupOnCluster(t)
	for _, url := range cluster.URLs() {
		nc, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		if _, err := nc.Subscribe("events.>", func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
	}
	p := s.startOn(s.db.URL, cluster.URLs()[0], func(c *relayConfig) { c.AckTimeout = time.Second })
	l := s.startLoad(4)
	for range 5 {
		s.awaitMoreSettled(100)
		s.stepDown()
	}
	s.awaitMoreSettled(100)
	l.stop()
	s.wantSettledInStream(p)
}

// awaitMoreSettled waits for progress, which may have to wait for an election.
func (s *setup) awaitMoreSettled(n int64) {
	s.t.Helper()
	before := s.settled()
	s.eventually("progress", func() bool { return s.settled() >= before+n })
}

// stepDown has the stream elect another leader. The old one may win, and is asked again.
func (s *setup) stepDown() {
	s.t.Helper()
	before := ""
	s.eventually("a leader", func() bool { before = s.leader(); return before != "" })
	s.eventually("another leader", func() bool {
		now := s.leader()
		if now == before {
			ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
			defer cancel()
			_, _ = s.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+streamName, nil) // else it is asked again
		}
		return now != "" && now != before
	})
}

// leaderOf returns the node that leads the stream.
func (s *setup) leaderOf(cluster *fault.Cluster) (leader *fault.Node) {
	s.t.Helper()
	s.eventually("a leader", func() bool {
		name := s.leader()
		for _, node := range cluster.Nodes {
			if node.Name() == name {
				leader = node
			}
		}
		return leader != nil
	})
	return leader
}

// leader returns the name of the leader of the stream, "" while there is none.
func (s *setup) leader() string {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	stream, err := s.js.Stream(ctx, streamName)
	if err != nil || stream.CachedInfo().Cluster == nil {
		return ""
	}
	return stream.CachedInfo().Cluster.Leader
}

// wantSettledInStream: everything is settled once, and in the stream once; nothing was counted
// against an event.
func (s *setup) wantSettledInStream(p *pod) {
	s.t.Helper()
	s.wantLogInStream()
	if n, want := s.settled(), s.logged(); n != want {
		s.t.Errorf("%d events settled, want %d, each once", n, want)
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_dead_letter_history"); n != 0 {
		s.t.Errorf("%d events were given up", n)
	}
	if err := p.stopAndWait(); err != nil {
		s.t.Errorf("run: %v", err)
	}
}

// TestWorkQueueThatForgotTheMessage: a consumer took and acknowledged what a relay had published and not
// settled, so the stream does not have it any more. The next relay is told that it is a
// duplicate, settles it, and the consumer does not get it again.
func TestWorkQueueThatForgotTheMessage(t *testing.T) {
	t.Parallel()
	s := newSetupWithoutStream(t)
	queue := jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Retention: jetstream.WorkQueuePolicy}
	if _, err := s.js.CreateStream(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	worker, err := s.js.CreateConsumer(t.Context(), streamName, jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	first := s.start(func(c *relayConfig) { c.Workers = 16 })
	s.awaitLanes(16)
	noSettle := s.noSettle()
	// In one transaction: a lane with a batch that cannot be settled takes no other one.
	want := s.stageTogether(append(events("k", 3), events("", 20)...)...)
	// One of a key is in flight at a time, but its acknowledgement needs no settle.
	s.eventually("all is published", func() bool { return s.count() == len(want) })
	first.kill()

	taken := map[string]int{}
	take := func(n int, patience time.Duration) {
		batch, err := worker.Fetch(n, jetstream.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		for m := range batch.Messages() {
			taken[m.Headers().Get("ce-id")]++
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(len(want), 30*time.Second)
	s.eventually("the queue is empty", func() bool { return s.count() == 0 })
	s.commit(noSettle)

	s.start()
	s.eventually("all is settled", func() bool { return s.settled() == int64(len(want)) })
	take(1, time.Second)
	for _, id := range want {
		if taken[id] != 1 {
			t.Errorf("the worker got event %s %d times", id, taken[id])
		}
	}
	if n := query[int](s, "SELECT count(*) FROM outbox.outbox_retry"); n != 0 {
		t.Errorf("%d events are taken for refused", n)
	}
}
