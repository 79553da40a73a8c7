package fault_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

const testStream = "TEST"

// broker is a server with a stream, reached through a proxy and past it.
type broker struct {
	t      *testing.T
	server *harness.NATS
	proxy  *fault.NATSProxy
	direct jetstream.JetStream
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, server: outboxtest.NewNATS(t)}
	b.direct = outboxtest.NewStream(t, b.server.URL(), testStream, "events.>")
	var err error
	if b.proxy, err = fault.NewNATSProxy(b.server.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// client connects through the proxy.
func (b *broker) client(opts ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	b.t.Helper()
	opts = append([]nats.Option{nats.Name("client"), nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1)}, opts...)
	nc, err := nats.Connect(b.proxy.URL(), opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		b.t.Fatal(err)
	}
	return nc, js
}

// send begins a publication.
func (b *broker) send(js jetstream.JetStream, id string) jetstream.PubAckFuture {
	b.t.Helper()
	ack, err := js.PublishAsync("events.thing", []byte("body of "+id), jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
	if err != nil {
		b.t.Fatal(err)
	}
	return ack
}

// stored returns how many messages the stream has.
func (b *broker) stored() uint64 {
	b.t.Helper()
	s, err := b.direct.Stream(b.t.Context(), testStream)
	if err != nil {
		b.t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// outcome waits for the end of a publication.
func outcome(t *testing.T, ack jetstream.PubAckFuture) (*jetstream.PubAck, error) {
	t.Helper()
	select {
	case a := <-ack.Ok():
		return a, nil
	case err := <-ack.Err():
		return nil, err
	case <-time.After(90 * time.Second):
		t.Fatal("neither an acknowledgement nor an error")
		return nil, nil
	}
}

// open asserts that a publication has no outcome.
func open(t *testing.T, ack jetstream.PubAckFuture) {
	t.Helper()
	select {
	case a := <-ack.Ok():
		t.Fatalf("acknowledged: %+v", a)
	case err := <-ack.Err():
		t.Fatalf("failed: %v", err)
	default:
	}
}

func TestNATSProxyPassesEverythingUnchanged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	want := map[string][]byte{}
	var acks []jetstream.PubAckFuture
	for i := range 2000 {
		body := make([]byte, i*7%5000)
		_, _ = rand.Read(body)
		if i%3 == 0 {
			body = append(body, "\r\nPUB events.thing 0\r\n\r\n"...)
		}
		id := fmt.Sprint("id-", i)
		want[id] = body
		ack, err := js.PublishAsync("events.thing", body, jetstream.WithMsgID(id))
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for i, ack := range acks {
		a, err := outcome(t, ack)
		if err != nil {
			t.Fatal(err)
		}
		if a.Sequence != uint64(i+1) {
			t.Fatalf("message %d has the sequence %d", i, a.Sequence)
		}
	}
	consumer, err := js.OrderedConsumer(t.Context(), testStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(len(want))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range batch.Messages() {
		n++
		if !bytes.Equal(m.Data(), want[m.Headers().Get(jetstream.MsgIDHeader)]) {
			t.Fatalf("message %s has another body", m.Headers().Get(jetstream.MsgIDHeader))
		}
	}
	if n != len(want) {
		t.Errorf("read %d messages, want %d: %v", n, len(want), batch.Error())
	}
}

func TestNATSProxyCutsBeforeTheAck(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	nc, js := b.client()
	rule := b.proxy.Add(fault.NATSRule{Match: fault.At(fault.OnAck), After: 2, Times: 1, Do: fault.Cut()})
	for i := range 2 {
		if _, err := outcome(t, b.send(js, fmt.Sprint(i))); err != nil {
			t.Errorf("acknowledgement %d: %v", i, err)
		}
	}
	if _, err := outcome(t, b.send(js, "2")); err == nil {
		t.Error("the third one was acknowledged")
	}
	hits(t, rule, 1)
	if got := b.stored(); got != 3 {
		t.Errorf("%d messages are stored, want 3", got)
	}
	eventually(t, "the client reconnects", func() bool { return nc.Stats().Reconnects == 1 && nc.IsConnected() })
	a, err := outcome(t, b.send(js, "2"))
	if err != nil || !a.Duplicate || a.Sequence != 3 {
		t.Errorf("again: %+v, %v; want the duplicate of sequence 3", a, err)
	}
}

func TestNATSProxySwallowsAcks(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	rule := b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnAck, "lost"), Do: fault.Swallow()})
	lost := b.send(js, "lost")
	if _, err := outcome(t, b.send(js, "other")); err != nil {
		t.Errorf("another publication: %v", err)
	}
	hits(t, rule, 1)
	open(t, lost)
	if got := b.stored(); got != 2 {
		t.Errorf("%d messages are stored, want 2", got)
	}
	rule.Remove()
	if _, err := outcome(t, b.send(js, "lost")); err != nil {
		t.Errorf("after the rule is gone: %v", err)
	}
}

func TestNATSProxyDuplicatesAcks(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	rule := b.proxy.Add(fault.NATSRule{Match: fault.At(fault.OnAck), Do: fault.Duplicate(2)})
	for i := range 50 {
		a, err := outcome(t, b.send(js, fmt.Sprint(i)))
		if err != nil || a.Sequence != uint64(i+1) {
			t.Fatalf("publication %d: %+v, %v", i, a, err)
		}
	}
	hits(t, rule, 50)
}

func TestNATSProxyDelaysAcks(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnAck, "late"), Do: fault.Delay(300 * time.Millisecond)})
	begin := time.Now()
	late := b.send(js, "late")
	if _, err := outcome(t, b.send(js, "other")); err != nil {
		t.Fatal(err)
	}
	open(t, late)
	if _, err := outcome(t, late); err != nil || time.Since(begin) < 300*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
}

func TestNATSProxySwallowsPublications(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	rule := b.proxy.Add(fault.NATSRule{Match: fault.AtSubject(fault.OnPublication, "events."), Times: 1, Do: fault.Swallow()})
	lost := b.send(js, "lost")
	if a, err := outcome(t, b.send(js, "other")); err != nil || a.Sequence != 1 {
		t.Errorf("the next one: %+v, %v", a, err)
	}
	hits(t, rule, 1)
	open(t, lost)
}

func TestNATSProxyAnswersByRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		point fault.NATSPoint
		reply fault.Reply
		check func(*jetstream.PubAck, error) bool
		kept  uint64 // whether the server stored it
	}{
		{
			"an error code", fault.OnPublication, fault.JetStreamError(503, 10077, "maximum messages exceeded"),
			func(_ *jetstream.PubAck, err error) bool {
				var api *jetstream.APIError
				return errors.As(err, &api) && api.ErrorCode == 10077 && api.Code == 503
			}, 0,
		},
		{
			"no responders", fault.OnPublication, fault.NoResponders(),
			func(_ *jetstream.PubAck, err error) bool { return errors.Is(err, jetstream.ErrNoStreamResponse) }, 0,
		},
		{
			"a lie", fault.OnPublication, fault.Stored(testStream, 7, true),
			func(a *jetstream.PubAck, err error) bool { return err == nil && a.Sequence == 7 && a.Duplicate }, 0,
		},
		{
			"an error for what was stored", fault.OnAck, fault.JetStreamError(500, 10158, "conflict"),
			func(_ *jetstream.PubAck, err error) bool {
				var api *jetstream.APIError
				return errors.As(err, &api) && api.ErrorCode == 10158
			}, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			_, js := b.client()
			rule := b.proxy.Add(fault.NATSRule{Match: fault.At(c.point), Times: 1, Do: fault.Answer(c.reply)})
			if a, err := outcome(t, b.send(js, "a")); !c.check(a, err) {
				t.Errorf("outcome %+v, %v", a, err)
			}
			hits(t, rule, 1)
			if got := b.stored(); got != c.kept {
				t.Errorf("%d messages are stored, want %d", got, c.kept)
			}
			if _, err := outcome(t, b.send(js, "b")); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

func TestNATSProxyActsOnRequests(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	_, js := b.client()
	rule := b.proxy.Add(fault.NATSRule{Match: fault.AtSubject(fault.OnRequest, "$JS.API.STREAM.INFO."), Times: 1, Do: fault.Answer(fault.JetStreamError(404, 10059, "stream not found"))})
	if _, err := js.Stream(t.Context(), testStream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got %v", err)
	}
	hits(t, rule, 1)
	lost := b.proxy.Add(fault.NATSRule{Match: fault.AtSubject(fault.OnResponse, "$JS.API.STREAM.INFO."), Do: fault.Swallow()})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := js.Stream(ctx, testStream); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	hits(t, lost, 1)
}

func TestNATSProxyTellsWhatPasses(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	events := make(chan fault.NATSEvent, 10)
	b.proxy.Observe(func(e fault.NATSEvent) { events <- e })
	_, js := b.client()
	b.proxy.Add(fault.NATSRule{Match: fault.At(fault.OnAck), After: 1, Do: fault.Swallow()})
	b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnPublication, "b"), Do: fault.Answer(fault.JetStreamError(400, 10054, "message size exceeds maximum allowed"))})
	for _, id := range []string{"a", "a", "b"} {
		b.send(js, id)
	}
	want := map[fault.NATSEvent]int{
		{Client: "client", ID: "a"}: 2,
		{Client: "client", ID: "a", Ack: true, Stream: testStream, Sequence: 1, Delivered: true}: 1,
		{Client: "client", ID: "a", Ack: true, Stream: testStream, Sequence: 1, Duplicate: true}: 1,
		{Client: "client", ID: "b", Ack: true, Code: 10054, Delivered: true, Forged: true}:       1,
	}
	for range 5 {
		e := <-events
		if e.At.IsZero() {
			t.Error("an event without a time")
		}
		e.At = time.Time{}
		want[e]--
	}
	for e, n := range want {
		if n != 0 {
			t.Errorf("%d too few of %+v", n, e)
		}
	}
}
