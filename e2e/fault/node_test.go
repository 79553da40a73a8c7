package fault_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// jetStream connects to a node.
func jetStream(t *testing.T, url string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	opts = append([]nats.Option{nats.ReconnectWait(10 * time.Millisecond), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1)}, opts...)
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func createStream(t *testing.T, js jetstream.JetStream, replicas int) {
	t.Helper()
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: testStream, Subjects: []string{"events.>"}, Replicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
}

// publish stores one message, however long it takes, and returns its sequence.
func publish(t *testing.T, js jetstream.JetStream, id string) (sequence uint64) {
	t.Helper()
	eventually(t, "message "+id+" is stored", func() bool {
		ack, err := js.Publish(t.Context(), "events.thing", []byte(id), jetstream.WithMsgID(id))
		if err == nil {
			sequence = ack.Sequence
		}
		return err == nil
	})
	return sequence
}

func startNode(t *testing.T) *fault.Node {
	t.Helper()
	n, err := fault.StartNode(fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestNodeKeepsItsStoreWhenItIsKilled(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	js := jetStream(t, n.URL())
	createStream(t, js, 1)
	for i := range 100 {
		publish(t, js, fmt.Sprint(i))
	}
	n.Kill()
	if n.Running() {
		t.Error("it runs")
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	if got := publish(t, js, "last"); got != 101 {
		t.Errorf("sequence %d, want 101", got)
	}
	if err := n.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestNodeStoresLateWhatCameWhileItStood(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	js := jetStream(t, n.URL())
	createStream(t, js, 1)
	publish(t, js, "before")
	if err := n.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := js.Publish(ctx, "events.thing", nil, jetstream.WithMsgID("late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it stands: %v", err)
	}
	if err := n.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the message that had timed out is stored", func() bool {
		s, err := js.Stream(t.Context(), testStream)
		return err == nil && s.CachedInfo().State.Msgs == 2
	})
}

func TestNodeStoreIsRolledBack(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	js := jetStream(t, n.URL())
	createStream(t, js, 1)
	publish(t, js, "kept")
	dir := filepath.Join(t.TempDir(), "copy")
	if err := n.SaveStore(dir); err == nil {
		t.Error("saved the store of a running server")
	}
	restart := func(change func() error) {
		t.Helper()
		if err := errors.Join(n.Stop(), change(), n.Start()); err != nil {
			t.Fatal(err)
		}
	}
	restart(func() error { return n.SaveStore(dir) })
	if got := publish(t, js, "lost"); got != 2 {
		t.Errorf("sequence %d, want 2", got)
	}
	restart(func() error { return n.RestoreStore(dir) })
	if got := publish(t, js, "lost"); got != 2 {
		t.Errorf("after the rollback sequence %d, want 2 again, and no duplicate", got)
	}
	restart(n.EmptyStore)
	eventually(t, "an empty store has no stream", func() bool {
		_, err := js.Stream(t.Context(), testStream)
		return errors.Is(err, jetstream.ErrStreamNotFound)
	})
}

func TestClusterSurvivesItsLeader(t *testing.T) {
	t.Parallel()
	c, err := fault.StartCluster(t.Context(), 3, fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	js := jetStream(t, c.Nodes[0].URL(), func(o *nats.Options) error { o.Servers = c.URLs(); return nil })
	createStream(t, js, 3)
	publish(t, js, "before")
	leader, err := c.Leader(t.Context(), testStream)
	if err != nil {
		t.Fatal(err)
	}
	leader.Kill()
	for i := range 20 {
		publish(t, js, fmt.Sprint(i))
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitStream(t.Context(), testStream); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), testStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().State.Msgs; got != 21 {
		t.Errorf("%d messages, want 21", got)
	}
	if err := c.StepDown(t.Context(), testStream); err != nil {
		t.Error(err)
	}
	publish(t, js, "after")
	if err := c.StepDown(t.Context(), "NONE"); err == nil {
		t.Error("a stream that is not there has a leader that stepped down")
	}
}

// A client that learns of the other nodes would go around its proxy.
func TestNATSProxyHidesTheOtherNodes(t *testing.T) {
	t.Parallel()
	c, err := fault.StartCluster(t.Context(), 2, fault.NodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	proxy, err := fault.NewNATSProxy(c.Nodes[0].URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	direct := jetStream(t, c.Nodes[0].URL()).Conn()
	eventually(t, "a client without the proxy learns of them", func() bool { return len(direct.DiscoveredServers()) > 0 })
	hidden := jetStream(t, proxy.URL()).Conn()
	if got := hidden.DiscoveredServers(); len(got) != 0 {
		t.Errorf("discovered %v", got)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	start := func(args ...string) *fault.Process {
		t.Helper()
		p, err := fault.StartProcess(exec.Command(args[0], args[1:]...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	sleeper := start("sleep", "60")
	if err := errors.Join(sleeper.Pause(), sleeper.Resume()); err != nil {
		t.Error(err)
	}
	if !sleeper.Running() {
		t.Error("it does not run")
	}
	if err := sleeper.Pause(); err != nil {
		t.Error(err)
	}
	sleeper.Kill()
	if sleeper.Running() || sleeper.Err() == nil {
		t.Error("it was killed and says nothing of it")
	}
	if err := errors.Join(sleeper.Pause(), sleeper.Resume()); err != nil {
		t.Errorf("signals to the dead: %v", err)
	}

	paused := start("sleep", "60")
	if err := paused.Pause(); err != nil {
		t.Error(err)
	}
	if err := paused.Stop(10 * time.Second); err == nil {
		t.Error("a child that was terminated ended well")
	}
	says, tells, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer says.Close()
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; exec sleep 60")
	cmd.Stdout = tells
	stubborn, err := fault.StartProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stubborn.Kill)
	if _, err := bufio.NewReader(says).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := stubborn.Stop(200 * time.Millisecond); err == nil || stubborn.Running() {
		t.Error("a child that ignores SIGTERM was not killed")
	}
	short := start("true")
	<-short.Done()
	if err := short.Err(); err != nil {
		t.Error(err)
	}
}
