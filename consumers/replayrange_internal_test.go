package consumers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// lagging is a stream of three replicas, one of which has only the first of its messages for a while.
func lagging(t *testing.T, first, all int) (js jetstream.JetStream, lags string) {
	t.Helper()
	cluster, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{CatchUpBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Errorf("close the broker: %v", err)
		}
	})
	nc, err := nats.Connect(strings.Join(cluster.URLs(), ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1000)); err != nil {
		t.Fatal(err)
	}
	again := func(what string, try func(ctx context.Context) error) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := try(ctx)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	again("make the stream", func(ctx context.Context) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}, Replicas: 3, AllowDirect: true})
		return err
	})
	again("make the consumer", func(ctx context.Context) error {
		_, err := js.CreateOrUpdateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{Durable: "ledger", AckPolicy: jetstream.AckExplicitPolicy})
		return err
	})
	publish := func(n int) {
		t.Helper()
		acks := make([]jetstream.PubAckFuture, n)
		for i := range acks {
			if acks[i], err = js.PublishAsync("events.x", nil, jetstream.WithStallWait(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		for _, ack := range acks {
			select {
			case <-ack.Ok():
			case <-ack.Err():
				again("publish", func(ctx context.Context) error {
					_, err := js.Publish(ctx, "events.x", nil)
					return err
				})
			case <-t.Context().Done():
				t.Fatal("the messages were not stored")
			}
		}
	}
	publish(first)
	if err := cluster.AwaitStream(t.Context(), "EVENTS"); err != nil {
		t.Fatal(err)
	}
	leader, err := cluster.Leader(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	node := cluster.Nodes[0]
	if node == leader {
		node = cluster.Nodes[1]
	}
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	publish(all - first)
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	return js, node.Name()
}

// ledByWhoLags requests a range again and again, wants that it has not ended, and counts how often the replica led it that
// has not got its messages yet.
func ledByWhoLags(t *testing.T, c *Consumer, lags string, all uint64) (seen int) {
	t.Helper()
	js, began := c.js, time.Now().Add(-time.Hour)
	for range 30 {
		plan, err := PlanReplay(t.Context(), js, "EVENTS", "ledger", Range{Since: began, Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Messages < all || plan.Last < all {
			t.Errorf("the plan has %d messages up to %d, want %d", plan.Messages, plan.Last, all)
		}
		plan.config.OptStartSeq, plan.Last = all-10, all
		if err := plan.Request(t.Context(), js, "alice", "why"); err != nil {
			t.Fatal(err)
		}
		consumer, last, err := c.findRange(t.Context())
		if err != nil || consumer == nil {
			t.Fatalf("the request is not found: %v", err)
		}
		info := consumer.CachedInfo()
		if info.Cluster != nil && info.Cluster.Leader == lags && info.NumPending == 0 {
			seen++
		}
		if ended, err := c.rangeEnded(t.Context(), info, last); ended || err != nil {
			t.Errorf("a range that has everything left has ended: %v, %v", ended, err)
		}
		if err := js.DeleteConsumer(t.Context(), "EVENTS", rangeName("ledger")); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// TestRangeAtAReplicaThatLags: the consumer that is the request may be led by a replica that has not got all of
// the stream yet, and so may the one that counts. Nothing is pending there, and that is no end.
func TestRangeAtAReplicaThatLags(t *testing.T) {
	t.Parallel()
	const first, all = 100, 100_000
	var js jetstream.JetStream
	var c *Consumer
	seen := 0
	// On a slow machine the replica may have caught up before a request was led by it: then another one has to lag.
	for try := 0; seen == 0 && try < 8; try++ {
		var lags string
		js, lags = lagging(t, first, all)
		c = &Consumer{cfg: Config{Stream: "EVENTS", Name: "ledger", SettleTimeout: 10 * time.Second}, js: js}
		seen = ledByWhoLags(t, c, lags, all)
	}
	if seen == 0 {
		t.Error("no request was led by the replica that lags: the test has shown nothing")
	}
	// Once the last messages are deleted nothing is left, wherever the request is led.
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(all - 10); seq <= all; seq++ {
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	if ended, err := c.rangeEnded(t.Context(), &jetstream.ConsumerInfo{Config: jetstream.ConsumerConfig{OptStartSeq: all - 10}}, all); !ended || err != nil {
		t.Errorf("a range that has nothing left has not ended: %v, %v", ended, err)
	}
}
