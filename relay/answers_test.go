package relay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// TestEveryPublicationIsAnsweredWithAnError: batches end, the relay waits and says so, and all is
// well when the broker is.
func TestEveryPublicationIsAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	s, proxy := newSetupBehindProxy(t, nil)
	p := s.startOn(s.db.URL, proxy.URL(), func(c *relayConfig) { c.UnreadyAfter = time.Second })
	s.awaitLanes(16)
	rule := proxy.Add(fault.NATSRule{Match: fault.At(fault.OnPublication), Do: fault.Answer(fault.NoResponders())})
	s.stage("k", 20)
	s.stage("", 500)
	s.eventually("not ready", func() bool { return p.Ready() != nil })
	// More than there are events: whole batches have ended, and were published again.
	s.eventually("every batch is tried again", func() bool { return rule.Hits() > 1500 })
	if n := s.settled(); n != 0 {
		t.Errorf("%d events settled", n)
	}
	if n := p.logs.lines(); n > 20 {
		t.Errorf("%d log lines:\n%s", n, p.logs)
	}
	rule.Remove()
	s.wantLogInStream()
	s.eventually("ready", func() bool { return p.Ready() == nil })
}

// TestFiveThousandLostAcknowledgementsLeaveRoomForOthers: what waits for an answer that never
// comes frees its place, and the events are asked for again.
func TestFiveThousandLostAcknowledgementsLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	const lost = 5000
	s, proxy := newSetupBehindProxy(t, nil)
	rule := proxy.Add(fault.NATSRule{Match: fault.At(fault.OnAck), Times: lost, Do: fault.Swallow()})
	s.stage("", lost)
	s.stage("k", 10)
	p := s.startOn(s.db.URL, proxy.URL(), func(c *relayConfig) { c.AckTimeout = time.Second; c.StopTimeout = 20 * time.Second })
	s.eventually("5,000 acknowledgements are lost", func() bool { return rule.Hits() == lost })
	s.stage("", 2000)
	s.wantLogInStream()
	if n := s.settled(); n != lost+2010 {
		t.Errorf("%d events settled, want %d, each once", n, lost+2010)
	}
	if strings.Contains(p.logs.String(), "stalled") {
		t.Errorf("the client stalls:\n%s", p.logs)
	}
}

// TestStoredAfterTheLaneWasTakenOver: a server stands still with publications in its socket for so long
// that the relay gives up and dies, and another takes its lanes. When the server
// goes on it stores what the first one sent, and takes nothing a second time.
func TestStoredAfterTheLaneWasTakenOver(t *testing.T) {
	t.Parallel()
	s, node := newSetupOnNode(t)
	first := s.startOn(s.db.URL, node.URL(), func(c *relayConfig) { c.AckTimeout = time.Second })
	s.stage("", 50)
	s.eventually("50 events settled", func() bool { return s.settled() == 50 })
	if err := node.Pause(); err != nil {
		t.Fatal(err)
	}
	s.stage("k", 10)
	s.stage("", 200)
	s.eventually("the first relay has published in vain", func() bool {
		return strings.Contains(first.logs.String(), "waiting for the broker")
	})
	first.kill()
	s.startOn(s.db.URL, node.URL(), func(c *relayConfig) { c.AckTimeout = time.Second })
	s.awaitLanes(16)
	if n := s.settled(); n != 50 {
		t.Errorf("%d events settled while the server stood still, want 50", n)
	}
	if err := node.Resume(); err != nil {
		t.Fatal(err)
	}
	s.wantLogInStream()
}
