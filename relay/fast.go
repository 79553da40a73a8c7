package relay

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// fastPublisher publishes a batch with JetStream's fast ingest where the server and the stream
// allow it, and everything else with an asyncPublisher. A fast batch is stored from its first event up to the
// first gap, so that no event overtakes an earlier one of its key, and one acknowledgement proves
// all of it. Whatever else happens to it proves nothing: then its events are published again with their ids,
// one by one, by the asyncPublisher, whose outcomes count.
//
// A batch goes fast only if nobody can have published any of it before. A copy that is still on its way
// through the servers makes the server skip an event that it has not stored yet: one by one it says so,
// in a fast batch it counts the event as stored.
//
// Safe for concurrent use by several lanes.
type fastPublisher struct {
	*asyncPublisher
	want PublisherKind
	log  *slog.Logger
	// wait bounds the time without an answer, which the library cannot be called back from: no longer than a
	// stopping relay waits for batches in flight.
	wait time.Duration

	// waiting are goroutines of batches that were given up before their first answer.
	waiting sync.WaitGroup

	mu     sync.Mutex              // guards what follows
	config *jetstream.StreamConfig // nil until the broker has said something of the stream
	server string
	choice PublisherChoice
	// After a batch that failed the publisher is async until resume; pause is how long.
	resume time.Time
	pause  time.Duration
	// abandoned are batches whose subscription could not be ended yet.
	abandoned []*fastBatch

	// batches counts those that were acknowledged as a whole, for tests.
	batches atomic.Int64
}

// A batch of fewer events is not worth a batch: its first event waits for an answer of its own.
const minFastBatch = 4

// The pause after failed batches, which doubles up to its limit: the connection is the one
// that is in trouble, and asyncPublisher says best what is wrong.
const (
	fastPauseMin = time.Second
	fastPauseMax = time.Minute
)

func newFastPublisher(async *asyncPublisher, want PublisherKind, wait time.Duration, log *slog.Logger) *fastPublisher {
	return &fastPublisher{asyncPublisher: async, want: want, wait: wait, log: log, choice: ChoosePublisher(want, "", nil)}
}

// learn takes what the broker says of the stream now.
func (p *fastPublisher) learn(stream *jetstream.StreamConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = stream
	p.choose()
}

// choose makes the choice again. Lock should be held.
func (p *fastPublisher) choose() {
	server := p.js.Conn().ConnectedServerVersion()
	if server == "" {
		return // not connected: the next batch asks again
	}
	p.server = server
	before := p.choice
	p.choice = ChoosePublisher(p.want, p.server, p.config)
	if p.choice == before {
		return
	}
	if p.choice.Denied {
		p.log.Warn("events are published one by one: batches are not possible", "reason", p.choice.Reason)
		return
	}
	p.log.Info("publisher chosen", "publisher", p.choice.Kind, "reason", p.choice.Reason)
}

// limit returns how large a message of a fast batch may be, header and data, and false when
// batches are not to be used now.
func (p *fastPublisher) limit() (bytes int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nc := p.js.Conn()
	server := nc.ConnectedServerVersion()
	if server == "" {
		return 0, false // not connected
	}
	if server != p.server {
		p.choose() // it is another server
	}
	if p.choice.Kind != PublisherFast || time.Now().Before(p.resume) {
		return 0, false
	}
	bytes = int(nc.MaxPayload())
	if most := int(p.config.MaxMsgSize); most > 0 {
		bytes = min(bytes, most)
	}
	return bytes, true
}

// attempt is [asyncPublisher.attempt].
func (p *fastPublisher) attempt(ctx context.Context, b *batch) failure {
	limit, ok := p.limit()
	if ok && !b.again && len(b.events) >= minFastBatch {
		if messages := p.encodeAll(b, limit); len(messages) >= minFastBatch {
			if p.publish(ctx, b, messages) {
				return failure{}
			}
		}
	}
	return p.asyncPublisher.attempt(ctx, b)
}

// encodeAll encodes the open events of a batch. It returns nothing if one of them would break a
// fast batch, because it will be refused.
func (p *fastPublisher) encodeAll(b *batch, limit int) []*nats.Msg {
	messages := make([]*nats.Msg, 0, len(b.events))
	for i := range b.events {
		e := &b.events[i]
		if e.waits() || e.streamSeq != 0 {
			continue
		}
		msg, err := p.encode(e)
		if err != nil {
			return nil
		}
		header := wire.HeaderSize(msg.Header)
		if header > wire.MaxHeaderSize || header+len(msg.Data) > limit {
			return nil
		}
		messages = append(messages, msg)
	}
	return messages
}

// publish publishes the messages of the open events of b as one batch. It returns true, and
// the events are stored, if the stream acknowledged all of it.
func (p *fastPublisher) publish(ctx context.Context, b *batch, messages []*nats.Msg) bool {
	p.endAbandoned()
	seq, err := p.send(ctx, messages)
	if err != nil {
		if ctx.Err() == nil {
			p.failed(err)
		}
		return false
	}
	b.whole = true
	for i := range b.events {
		if e := &b.events[i]; !e.waits() && e.streamSeq == 0 {
			e.streamSeq = seq
		}
	}
	p.batches.Add(1)
	p.mu.Lock()
	p.pause, p.resume = 0, time.Time{}
	p.mu.Unlock()
	return true
}

// failed keeps from fast batches for a while, or until the stream is looked at again if the broker said
// that it takes none.
func (p *fastPublisher) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.resume) {
		return // another lane has noticed
	}
	p.pause = min(max(2*p.pause, fastPauseMin), fastPauseMax)
	p.resume = now.Add(p.pause)
	p.log.Info("a batch failed: its events are published one by one", "error", err, "for", p.pause)
	if notEnabled(err) {
		config := *p.config
		config.AllowBatchPublish = false
		p.config = &config
		p.choose()
	}
}

// chosen returns the present choice.
func (p *fastPublisher) chosen() PublisherChoice {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.choice
}

// endAbandoned ends the subscriptions of batches that could not be ended when they broke.
func (p *fastPublisher) endAbandoned() {
	p.mu.Lock()
	list := p.abandoned
	p.abandoned = nil
	p.mu.Unlock()
	for _, f := range list {
		p.end(f)
	}
}

// end ends a batch that broke.
func (p *fastPublisher) end(f *fastBatch) {
	if !f.end() {
		p.mu.Lock()
		p.abandoned = append(p.abandoned, f)
		p.mu.Unlock()
	}
}
