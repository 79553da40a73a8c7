package relay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestBatchAcknowledgementMustProveAllOfIt(t *testing.T) {
	t.Parallel()
	p := &fastPublisher{asyncPublisher: &asyncPublisher{stream: "EVENTS"}}
	for _, c := range []struct {
		name  string
		ack   jetstreamext.BatchAck
		class Class
		seq   uint64
	}{
		{"all", jetstreamext.BatchAck{Stream: "EVENTS", Sequence: 70, BatchSize: 60}, Stored, 70},
		{"stopped at a gap", jetstreamext.BatchAck{Stream: "EVENTS", Sequence: 69, BatchSize: 59}, Unavailable, 0},
		{"an acknowledgement of a single message", jetstreamext.BatchAck{Stream: "EVENTS", Sequence: 70}, Unavailable, 0},
		{"duplicates without a place", jetstreamext.BatchAck{Stream: "EVENTS", BatchSize: 60}, Unknown, 0},
		{"elsewhere", jetstreamext.BatchAck{Stream: "OTHER", Sequence: 70, BatchSize: 60}, Unavailable, 0},
	} {
		seq, err := p.acceptBatch(&c.ack, 60)
		if seq != c.seq || Classify(err) != c.class {
			t.Errorf("%s: sequence %d, %s (%v); want %d, %s", c.name, seq, Classify(err), err, c.seq, c.class)
		}
	}
}

func newFastBench(t *testing.T, ackTimeout time.Duration) *bench {
	return newBench(t, PublisherFast, ackTimeout, outboxtest.NewNATS(t))
}

// allowBatches changes the stream.
func (b *bench) allowBatches(allowed bool) {
	b.t.Helper()
	_, err := b.admin.UpdateStream(b.t.Context(), jetstream.StreamConfig{Name: benchStream, Subjects: []string{"events.>"}, AllowBatchPublish: allowed})
	if err != nil {
		b.t.Fatal(err)
	}
}

// untilFast publishes batches until one goes as a whole, and returns them.
func (b *bench) untilFast(from int64) (lists []*batch) {
	b.t.Helper()
	before, deadline := b.pub.batches.Load(), time.Now().Add(generous)
	for b.pub.batches.Load() == before {
		if time.Now().After(deadline) {
			b.t.Fatal("batches are not used again")
		}
		list := shifted(b.batch(10), from)
		from += 10
		b.untilStored(list)
		lists = append(lists, list)
	}
	return lists
}

// TestFastPublisherFollowsTheStream takes the batches away behind its back and gives them back.
func TestFastPublisherFollowsTheStream(t *testing.T) {
	t.Parallel()
	b := newFastBench(t, impatient)
	lists := b.untilFast(0)
	b.allowBatches(false)
	if c := b.pub.chosen(); c.Kind != PublisherFast {
		t.Fatalf("before anything was published: %+v", c)
	}
	list := shifted(b.batch(60), 1000)
	b.untilStored(list)
	if c := b.pub.chosen(); c.Kind != PublisherAsync || !c.Denied {
		t.Errorf("after the stream has refused a batch: %+v", c)
	}
	lists = append(lists, list)
	b.allowBatches(true)
	b.learn(b.pub)
	lists = append(lists, b.untilFast(2000)...)
	b.wantInStream(lists...)
}

// TestFastPublisherFollowsTheServer lets it believe that it has talked to an older server.
func TestFastPublisherFollowsTheServer(t *testing.T) {
	t.Parallel()
	b := newFastBench(t, patient)
	b.pub.mu.Lock()
	b.pub.server = "2.10.0"
	b.pub.choice = ChoosePublisher(PublisherFast, b.pub.server, b.pub.config)
	b.pub.mu.Unlock()
	list := b.batch(60)
	b.wantStored(list)
	b.wantFast(1)
	b.pub.mu.Lock()
	b.pub.want, b.pub.server = PublisherAsync, "2.10.0"
	b.pub.mu.Unlock()
	more := shifted(b.batch(60), 100)
	b.wantStored(more)
	b.wantFast(1)
	b.wantInStream(list, more)
}

// TestFastPublisherPausesAfterAFailure: while batches fail, only one now and then is tried.
func TestFastPublisherPausesAfterAFailure(t *testing.T) {
	t.Parallel()
	b := newFastBench(t, impatient)
	rule := b.proxy.Add(fault.NATSRule{Match: func(m *fault.NATSMessage) bool {
		return m.Point == fault.OnAck && m.Payload != nil && isBatchAnswer(m.Payload)
	}, Do: fault.Swallow()})
	list := b.batch(60)
	b.untilStored(list)
	b.wantFast(0)
	b.pub.mu.Lock()
	first, pause := b.pub.resume, b.pub.pause
	b.pub.mu.Unlock()
	if pause != fastPauseMin {
		t.Errorf("a pause of %s, want %s", pause, fastPauseMin)
	}
	b.pub.failed(errors.New("in another lane"))
	b.pub.mu.Lock()
	if !b.pub.resume.Equal(first) && time.Now().Before(first) {
		t.Error("the failure of another lane in the pause made it longer")
	}
	b.pub.mu.Unlock()
	rule.Remove()
	lists := append(b.untilFast(1000), list)
	b.pub.mu.Lock()
	defer b.pub.mu.Unlock()
	if b.pub.pause != 0 {
		t.Errorf("a pause of %s after a batch that went well", b.pub.pause)
	}
	b.wantInStream(append(lists[len(lists)-1:], lists[:len(lists)-1]...)...)
}

// isBatchAnswer tells the answers to a fast batch from those to single messages.
func isBatchAnswer(payload []byte) bool {
	for _, mark := range []string{`"type":"ack"`, `"batch":`} {
		if strings.Contains(string(payload), mark) {
			return true
		}
	}
	return false
}

// TestFastPublisherLetsGoOfItsSubscriptions breaks batches in every place while the connection is down.
func TestFastPublisherLetsGoOfItsSubscriptions(t *testing.T) {
	t.Parallel()
	b := newFastBench(t, impatient)
	b.wantStored(b.batch(60)) // the subscription of asyncPublisher is there from now on
	if fail := b.pub.asyncPublisher.attempt(t.Context(), b.batch(4)); fail.class != "" {
		t.Fatal(fail.err)
	}
	before := b.nc.NumSubscriptions()
	for _, place := range []int{0, 1, 30, 58, 59} {
		b.pub.mu.Lock()
		b.pub.resume = time.Time{}
		b.pub.mu.Unlock()
		list := b.batch(60)
		b.proxy.Add(fault.NATSRule{Match: fault.AtID(fault.OnPublication, msgID(&list.events[place])), Times: 1, Do: fault.Cut()})
		b.untilStored(list)
	}
	b.untilFast(0)
	b.pub.waiting.Wait()
	b.pub.endAbandoned()
	deadline := time.Now().Add(generous)
	for b.nc.NumSubscriptions() > before && time.Now().Before(deadline) {
		b.untilFast(0)
	}
	if n := b.nc.NumSubscriptions(); n != before {
		t.Errorf("%d subscriptions are left, want %d", n, before)
	}
}
