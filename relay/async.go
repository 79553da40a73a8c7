package relay

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// asyncPublisher publishes with one acknowledgement per message, many in flight. It keeps the
// order of keys by having at most one event per key in flight: the next one is sent
// when the one before it is acknowledged. Safe for concurrent use by several lanes.
type asyncPublisher struct {
	js         jetstream.JetStream
	encoder    *wire.Encoder
	stream     string
	ackTimeout time.Duration
	// idSuffix is added to the message ids of a replay; "" for every other publication.
	idSuffix string
}

// flight is a message that waits for its acknowledgement.
type flight struct {
	index int // in batch.events
	ack   jetstream.PubAckFuture
}

// failure is why an attempt left events open: the class, and the event and error that gave
// it. It is never Refused, which is said of single events.
type failure struct {
	class Class
	err   error
	event *event
}

// add takes the failure of an event. A refusal is the event's own; of the others the one that
// says most about the broker is kept.
func (f *failure) add(e *event, err error) {
	switch class := Classify(err); {
	case class == Refused:
		e.refused = reasonOf(err)
	case f.class == "" || (f.class == Unknown && class == Unavailable):
		*f = failure{class: class, err: err, event: e}
	}
}

// attempt publishes every open event of the batch, and returns when each of them is stored,
// refused, failed, or kept back behind an earlier event of its key. A zero failure means
// that none is open. After a failure nothing more is started.
func (p *asyncPublisher) attempt(ctx context.Context, b *batch) failure {
	var fail failure
	queue := make([]flight, 0, len(b.events))
	send := func(i int) {
		e := &b.events[i]
		if fail.class == Unavailable || ctx.Err() != nil || e.waits() {
			return
		}
		msg, err := p.encode(e)
		if err != nil {
			fail.add(e, err)
			return
		}
		ack, err := p.js.PublishMsgAsync(msg, jetstream.WithRetryAttempts(0))
		if err != nil {
			fail.add(e, err)
			return
		}
		queue = append(queue, flight{index: i, ack: ack})
	}
	ready := make([]bool, len(b.events))
	for i := range b.events {
		e := &b.events[i]
		if e.streamSeq != 0 {
			if e.next >= 0 {
				ready[e.next] = true
			}
			continue
		}
		if !e.later || ready[i] {
			send(i)
		}
	}

	timeout := time.NewTimer(p.ackTimeout)
	defer timeout.Stop()
	for done := 0; done < len(queue); done++ {
		f := queue[done]
		e := &b.events[f.index]
		seq, err := p.wait(ctx, f.ack, timeout)
		if err != nil {
			fail.add(e, err)
			continue
		}
		e.streamSeq = seq
		if e.next >= 0 {
			send(e.next)
		}
	}
	b.parkFollowers()
	if fail.class == "" && b.open() > 0 {
		fail = failure{class: Unknown, err: context.Cause(ctx)} // it was cut short
	}
	return fail
}

// encode makes a fresh message each time: one that was handed over belongs to the client.
func (p *asyncPublisher) encode(e *event) (*nats.Msg, error) {
	msg, err := p.encoder.Encode(&e.Record)
	if err == nil && p.idSuffix != "" {
		msg.Header.Set(nats.MsgIdHdr, msg.Header.Get(nats.MsgIdHdr)+p.idSuffix)
	}
	return msg, err
}

// wait returns the stream sequence of an acknowledgement. The timeout bounds the time
// without any acknowledgement; once it has passed, what has not been answered by then is
// looked at and not waited for.
func (p *asyncPublisher) wait(ctx context.Context, ack jetstream.PubAckFuture, timeout *time.Timer) (uint64, error) {
	select {
	case a := <-ack.Ok():
		timeout.Reset(p.ackTimeout)
		return p.accept(a)
	case err := <-ack.Err():
		return 0, err
	case <-ctx.Done():
		return 0, errNoAck
	case <-timeout.C:
		timeout.Reset(0) // the others have had their time too
		select {
		case a := <-ack.Ok():
			return p.accept(a)
		case err := <-ack.Err():
			return 0, err
		default:
			return 0, errNoAck
		}
	}
}

func (p *asyncPublisher) accept(a *jetstream.PubAck) (uint64, error) {
	if a.Stream != p.stream {
		return 0, &WrongStreamError{Expected: p.stream, Actual: a.Stream}
	}
	if a.Sequence == 0 {
		return 0, errDuplicateWithoutSequence
	}
	return a.Sequence, nil
}
