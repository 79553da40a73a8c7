package relay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// fastBatch is one batch on its way. The library under it waits without a context for the answer
// to the first message, and is not told then when the broker refuses it; and it keeps a subscription
// when a message cannot be sent. Both are seen to here.
type fastBatch struct {
	batch jetstreamext.FastPublisher
	// broken is closed when the broker said that the batch ends early; err is set before.
	broken chan struct{}
	once   sync.Once
	err    error
}

// errBatchIncomplete: the final acknowledgement of a batch does not cover all of it.
var errBatchIncomplete = errors.New("the batch was not acknowledged as a whole")

func newFastBatch(js jetstream.JetStream, ackTimeout time.Duration) (*fastBatch, error) {
	f := &fastBatch{broken: make(chan struct{})}
	var err error
	f.batch, err = jetstreamext.NewFastPublisher(js,
		jetstreamext.FastPublishFlowControl{
			Flow: 500, // the server acknowledges progress no more seldom
			// The size of the batch bounds what is in flight, as in asyncPublisher: the library never
			// stalls, because it would not notice then that the batch is broken.
			MaxOutstandingAcks: math.MaxUint16,
			AckTimeout:         ackTimeout,
		},
		jetstreamext.WithFastPublisherErrorHandler(f.fail)) // under a lock of the library
	return f, err
}

func (f *fastBatch) fail(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.broken)
	})
}

// send publishes messages as one batch and returns where the last of them is stored. An error
// says nothing about any of them.
func (p *fastPublisher) send(ctx context.Context, messages []*nats.Msg) (uint64, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err // the lane was lost since the batch was read
	}
	f, err := newFastBatch(p.js, p.wait)
	if err != nil {
		return 0, err
	}
	if err := p.begin(ctx, f, messages[0]); err != nil {
		return 0, err
	}
	last := len(messages) - 1
	for _, msg := range messages[1:last] {
		if err := f.add(ctx, msg); err != nil {
			p.end(f)
			return 0, err
		}
	}
	ack, err := f.commit(ctx, messages[last])
	if err != nil {
		p.end(f)
		return 0, err
	}
	return p.acceptBatch(ack, len(messages))
}

// begin sends the first message and waits for the answer, or until the batch is given up. Then
// the library goes on waiting, in its own goroutine, until its timeout.
func (p *fastPublisher) begin(ctx context.Context, f *fastBatch, msg *nats.Msg) error {
	answered := make(chan error, 1)
	var over atomic.Bool // whoever sets it first, the answer or who waits for it, has decided
	p.waiting.Go(func() {
		_, err := f.batch.AddMsg(msg)
		if over.CompareAndSwap(false, true) {
			answered <- err
		} else if err == nil {
			p.end(f)
		}
	})
	var err error
	select {
	case err = <-answered:
		return err
	case <-f.broken:
		err = f.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !over.CompareAndSwap(false, true) && <-answered == nil {
		p.end(f)
	}
	return err
}

// add sends the next message.
func (f *fastBatch) add(ctx context.Context, msg *nats.Msg) error {
	select {
	case <-f.broken:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}
	_, err := f.batch.AddMsg(msg)
	return err
}

// commit sends the last message and waits for the acknowledgement of the batch.
func (f *fastBatch) commit(ctx context.Context, msg *nats.Msg) (*jetstreamext.BatchAck, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-f.broken:
			cancel()
		case <-stop:
		}
	})
	ack, err := f.batch.CommitMsg(ctx, msg)
	close(stop)
	watch.Wait()
	if err != nil {
		select {
		case <-f.broken:
			return nil, f.err
		default:
		}
	}
	return ack, err
}

// end ends a batch that broke, so that the library lets go of its subscription. It returns false
// if that cannot be done now: the connection is down.
func (f *fastBatch) end() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for what the broker says to it
	_, err := f.batch.Close(ctx)
	return err == nil || errors.Is(err, context.Canceled) || f.batch.IsClosed()
}

// acceptBatch returns the stream sequence of the acknowledgement of n messages, if it proves that
// the expected stream has all of them. A sequence of 0 means that the stream stored none, because it has
// their ids: whether it has the events, it says only of each alone.
func (p *fastPublisher) acceptBatch(ack *jetstreamext.BatchAck, n int) (uint64, error) {
	switch {
	case ack.Stream != p.stream:
		return 0, &WrongStreamError{Expected: p.stream, Actual: ack.Stream}
	case ack.BatchSize != uint64(n):
		return 0, fmt.Errorf("%w: %d of %d messages", errBatchIncomplete, ack.BatchSize, n)
	case ack.Sequence == 0:
		return 0, errDuplicateWithoutSequence
	}
	return ack.Sequence, nil
}

// codeBatchesDisabled is the server's error code for a stream without allow_batched. The constant of
// jetstreamext v0.3.2 for it has another number, which servers do not send.
const codeBatchesDisabled jetstream.ErrorCode = 10205

// notEnabled reports whether the broker said that the stream takes no batches.
func notEnabled(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeBatchesDisabled
}
