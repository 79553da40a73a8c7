package fault_test

import (
	"fmt"
	"strings"
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

// TestNATSProxyTellsNoQuestionAsAPublication: a client that waits long for an answer asks how far its batch is.
func TestNATSProxyTellsNoQuestionAsAPublication(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	proxy, err := fault.NewNATSProxy(n.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	var mu sync.Mutex
	told := map[string]int{} // ids, and "acknowledged" before those of acknowledgements
	proxy.Observe(func(e fault.NATSEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Ack {
			told["acknowledged "+e.ID]++
		} else {
			told[e.ID]++
		}
	})
	js := jetStream(t, proxy.URL())
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: testStream, Subjects: []string{"events.>"}, AllowBatchPublish: true}); err != nil {
		t.Fatal(err)
	}
	inbox := js.Conn().NewInbox()
	answers, err := js.Conn().SubscribeSync(inbox + ".>")
	if err != nil {
		t.Fatal(err)
	}
	publish := func(number, operation int, id string) {
		t.Helper()
		m := nats.NewMsg("events.thing")
		m.Reply = fmt.Sprintf("%s.1.fail.%d.%d.$FI", inbox, number, operation)
		if id != "" {
			m.Header.Set(nats.MsgIdHdr, id)
		}
		if err := js.Conn().PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	publish(1, 0, "a")
	publish(2, 1, "b")
	publish(2, 4, "") // how far is it?
	publish(3, 2, "c")
	for final := false; !final; {
		answer, err := answers.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		final = strings.Contains(string(answer.Data), `"count":3`)
	}
	eventually(t, "all is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return told["acknowledged c"] == 1 && told["acknowledged a"] == 1 && told["acknowledged b"] == 1
	})
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 6 {
		t.Errorf("told of %v", told)
	}
}
