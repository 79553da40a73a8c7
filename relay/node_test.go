package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// newSetupOnNode is a setup whose broker is a process of its own.
func newSetupOnNode(t *testing.T) (*setup, *fault.Node) {
	t.Helper()
	node, err := fault.StartNode(fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes(t, node.Close) })
	s := &setup{t: t, db: outboxtest.NewDatabase(t)}
	s.connectTo(node.URL())
	s.createStream(streamName, "events.>")
	return s, node
}

// newSetupOnCluster is a setup whose broker has three nodes, each a process, and a stream that
// is replicated to all of them.
func newSetupOnCluster(t *testing.T) (*setup, *fault.Cluster) {
	t.Helper()
	cluster, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closes(t, cluster.Close) })
	s := &setup{t: t, db: outboxtest.NewDatabase(t)}
	s.connectTo(cluster.URLs()...)
	s.eventually("the replicated stream is made", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Replicas: 3})
		return err == nil
	})
	if err := cluster.AwaitStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	return s, cluster
}

func closes(t *testing.T, end func() error) {
	if err := end(); err != nil {
		t.Errorf("close the broker: %v", err)
	}
}

// connectTo makes the test's own connection.
func (s *setup) connectTo(urls ...string) {
	s.t.Helper()
	options := nats.GetDefaultOptions()
	options.Servers, options.MaxReconnect, options.ReconnectWait = urls, -1, 50*time.Millisecond
	nc, err := options.Connect()
	if err != nil {
		s.t.Fatalf("connect to NATS: %v", err)
	}
	s.t.Cleanup(nc.Close)
	if s.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(10*time.Second)); err != nil {
		s.t.Fatal(err)
	}
}
