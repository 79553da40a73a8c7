package fault_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

func TestNATSProxyRefusesConnections(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	nc, js := b.client()
	rule := b.proxy.AddLink(fault.LinkRule{Fault: fault.Refuse})
	if _, err := outcome(t, b.send(js, "a")); err != nil {
		t.Errorf("a connection that exists: %v", err)
	}
	if other, err := nats.Connect(b.proxy.URL()); err == nil {
		other.Close()
		t.Error("a new connection")
	}
	hits(t, rule, 1)
	if n := b.proxy.CutAll(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	eventually(t, "the client tries in vain", func() bool { return rule.Hits() > 2 && nc.IsReconnecting() })
	rule.Remove()
	eventually(t, "the client is back", nc.IsConnected)
}

func TestNATSProxyIsABlackHole(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	nc, js := b.client(nats.PingInterval(50*time.Millisecond), nats.MaxPingsOutstanding(2))
	rule := b.proxy.AddLink(fault.LinkRule{Fault: fault.BlackHole})
	lost := b.send(js, "lost")
	if _, err := nats.Connect(b.proxy.URL(), nats.Timeout(100*time.Millisecond)); err == nil {
		t.Error("a new connection")
	}
	if _, err := outcome(t, lost); err == nil { // the client gives up by its pings
		t.Error("acknowledged")
	}
	if rule.Hits() == 0 {
		t.Error("no hits")
	}
	if got := b.stored(); got != 0 {
		t.Errorf("%d messages are stored, want none", got)
	}
	rule.Remove()
	eventually(t, "the client is back", nc.IsConnected)
	if _, err := outcome(t, b.send(js, "lost")); err != nil {
		t.Error(err)
	}
}

// A connection that stood in the black hole without noticing is cut when it goes: the bytes
// that it lost are lost.
func TestNATSProxyCutsWhatTheBlackHoleDamaged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	nc, js := b.client()
	rule := b.proxy.AddLink(fault.LinkRule{Fault: fault.BlackHole})
	lost := b.send(js, "lost")
	eventually(t, "the publication is lost", func() bool { return rule.Hits() > 0 })
	rule.Remove()
	if _, err := outcome(t, lost); err == nil {
		t.Error("acknowledged")
	}
	eventually(t, "the client is back", func() bool { return nc.IsConnected() && nc.Stats().Reconnects == 1 })
}

func TestNATSProxyStalls(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	nc, js := b.client()
	rule := b.proxy.AddLink(fault.LinkRule{Fault: fault.Stall})
	late := b.send(js, "late")
	eventually(t, "the publication is held up", func() bool { return rule.Hits() > 0 })
	open(t, late)
	rule.Remove()
	if _, err := outcome(t, late); err != nil || nc.Stats().Reconnects != 0 {
		t.Errorf("%v, %d reconnects", err, nc.Stats().Reconnects)
	}
}

func TestNATSProxyIsSlow(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	rule := b.proxy.AddLink(fault.LinkRule{Fault: fault.Slow, BytesPerSecond: 100_000})
	begin := time.Now()
	ack, err := js.PublishAsync("events.thing", make([]byte, 50_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outcome(t, ack); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("50 kB at 100 kB/s took %s", took)
	}
	rule.Remove()
	if _, err := outcome(t, b.send(js, "quick")); err != nil {
		t.Fatal(err)
	}
}
