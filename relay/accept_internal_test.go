package relay

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

func TestAcceptWantsProofOfStorage(t *testing.T) {
	t.Parallel()
	p := &asyncPublisher{stream: "EVENTS"}
	var wrong *WrongStreamError
	for _, c := range []struct {
		name  string
		ack   jetstream.PubAck
		class Class
		seq   uint64
	}{
		{"stored", jetstream.PubAck{Stream: "EVENTS", Sequence: 7}, Stored, 7},
		{"stored before", jetstream.PubAck{Stream: "EVENTS", Sequence: 7, Duplicate: true}, Stored, 7},
		{"called a duplicate without a place", jetstream.PubAck{Stream: "EVENTS", Duplicate: true}, Unknown, 0},
		{"without a place", jetstream.PubAck{Stream: "EVENTS"}, Unknown, 0},
		{"stored elsewhere", jetstream.PubAck{Stream: "OTHER", Sequence: 7}, Unavailable, 0},
		{"a duplicate elsewhere", jetstream.PubAck{Stream: "OTHER", Sequence: 7, Duplicate: true}, Unavailable, 0},
		{"beyond 2^53", jetstream.PubAck{Stream: "EVENTS", Sequence: 1<<53 + 1}, Stored, 1<<53 + 1},
	} {
		seq, err := p.accept(&c.ack)
		if seq != c.seq || Classify(err) != c.class {
			t.Errorf("%s: sequence %d, %s (%v); want %d, %s", c.name, seq, Classify(err), err, c.seq, c.class)
		}
		if (c.class == Unavailable) != errors.As(err, &wrong) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNoAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errNoAck, errDuplicateWithoutSequence} {
		if c := Classify(err); c != Unknown {
			t.Errorf("%v is %s, want %s", err, c, Unknown)
		}
	}
}

func TestBatchChainsTheEventsOfAKeyInTheOrderOfTheLog(t *testing.T) {
	t.Parallel()
	b := &batch{}
	for _, e := range []struct {
		seq int64
		key string
	}{{9, "a"}, {2, "a"}, {5, "b"}, {4, ""}, {7, "a"}, {8, ""}} {
		b.events = append(b.events, event{seq: e.seq, Record: outbox.Record{PartitionKey: e.key}})
	}
	b.link()
	want := []event{
		{seq: 2, Record: outbox.Record{PartitionKey: "a"}, next: 3},
		{seq: 4, next: -1},
		{seq: 5, Record: outbox.Record{PartitionKey: "b"}, next: -1},
		{seq: 7, Record: outbox.Record{PartitionKey: "a"}, next: 5, later: true},
		{seq: 8, next: -1},
		{seq: 9, Record: outbox.Record{PartitionKey: "a"}, next: -1, later: true},
	}
	for i, e := range b.events {
		if w := want[i]; e.seq != w.seq || e.PartitionKey != w.PartitionKey || e.next != w.next || e.later != w.later {
			t.Errorf("event %d: seq %d key %q next %d later %v, want %+v", i, e.seq, e.PartitionKey, e.next, e.later, w)
		}
	}
	b.events[1].streamSeq, b.events[4].streamSeq = 17, 12
	if n := b.stored(); n != 2 {
		t.Errorf("%d stored, want 2", n)
	}
}

func TestBackoffDoublesUpToItsLimitWithJitter(t *testing.T) {
	t.Parallel()
	b := backoff{min: 50 * time.Millisecond, max: 5 * time.Second}
	limit := 50 * time.Millisecond
	for range 20 {
		if d := b.step(); d < limit/2 || d > limit {
			t.Errorf("a pause of %s, want %s to %s", d, limit/2, limit)
		}
		limit = min(2*limit, 5*time.Second)
	}
	b.reset()
	if d := b.step(); d > 50*time.Millisecond {
		t.Errorf("a pause of %s after a reset", d)
	}
	tiny := backoff{min: time.Nanosecond, max: time.Nanosecond}
	for range 5 {
		if d := tiny.step(); d < 0 || d > time.Nanosecond {
			t.Errorf("a pause of %s", d)
		}
	}
}

func TestWorstOutcomeOfABatchIsReported(t *testing.T) {
	t.Parallel()
	lost, full := nats.ErrTimeout, &jetstream.APIError{ErrorCode: 10077}
	bad := &jetstream.APIError{ErrorCode: codeMessageTooLarge}
	var f failure
	var e event
	for _, step := range []struct{ err, want error }{{lost, lost}, {full, full}, {lost, full}, {bad, full}} {
		f.add(&e, step.err)
		if f.err != step.want {
			t.Errorf("after %v the failure is %v, want %v", step.err, f.err, step.want)
		}
	}
	if e.refused == nil || e.refused.Code != retry.MessageTooLarge {
		t.Errorf("the event is refused for %v, want message_too_large", e.refused)
	}
}
