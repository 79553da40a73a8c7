package fault_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// TestNATSProxyTellsWhatABatchAcknowledges: one answer acknowledges each message of a fast batch.
func TestNATSProxyTellsWhatABatchAcknowledges(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	proxy, err := fault.NewNATSProxy(n.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	var mu sync.Mutex
	published, acked, upto := map[string]int{}, map[string]int{}, uint64(0)
	proxy.Observe(func(e fault.NATSEvent) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !e.Ack:
			published[e.ID]++
		case e.Code == 0 && e.Delivered:
			acked[e.ID]++
			upto = max(upto, e.Upto, e.Sequence)
		}
	})
	js := jetStream(t, proxy.URL())
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: testStream, Subjects: []string{"events.>"}, AllowBatchPublish: true}); err != nil {
		t.Fatal(err)
	}
	const messages = 1200 // more than the server lets pass without flow control
	batch, err := jetstreamext.NewFastPublisher(js)
	if err != nil {
		t.Fatal(err)
	}
	message := func(i int) *nats.Msg {
		m := nats.NewMsg("events.thing")
		m.Header.Set(nats.MsgIdHdr, fmt.Sprint("id-", i))
		return m
	}
	for i := range messages - 1 {
		if _, err := batch.AddMsg(message(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := batch.CommitMsg(t.Context(), message(messages-1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acked) == messages
	})
	mu.Lock()
	defer mu.Unlock()
	if len(published) != messages || upto != messages {
		t.Errorf("%d publications told, up to sequence %d, want %d", len(published), upto, messages)
	}
	for id, n := range acked {
		if n != 1 || published[id] != 1 {
			t.Errorf("%s: %d publications, %d acknowledgements", id, published[id], n)
		}
	}
}
