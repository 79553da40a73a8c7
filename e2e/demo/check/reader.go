package check

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// Reader reads a stream from its first message on and remembers what it saw. It is safe
// for concurrent use.
type Reader struct {
	nc      *nats.Conn
	stream  jetstream.Stream
	reading jetstream.ConsumeContext

	mu       sync.Mutex // guards the fields below; the client's goroutine writes them
	messages []Message
	distinct map[string]bool
}

// Read connects and begins to read. Close ends it.
func Read(ctx context.Context, url, stream string) (*Reader, error) {
	nc, err := nats.Connect(url, nats.Name("demo-checker"), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("connect the reader: %w", err)
	}
	r := &Reader{nc: nc, distinct: map[string]bool{}}
	if err := r.begin(ctx, stream); err != nil {
		nc.Close()
		return nil, fmt.Errorf("read stream %s: %w", stream, err)
	}
	return r, nil
}

// begin makes an ordered consumer: it gets every message once, in the order of the
// stream, and starts again at the right place when it misses one.
func (r *Reader) begin(ctx context.Context, stream string) error {
	js, err := jetstream.New(r.nc)
	if err != nil {
		return err
	}
	if r.stream, err = js.Stream(ctx, stream); err != nil {
		return err
	}
	consumer, err := r.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return err
	}
	r.reading, err = consumer.Consume(r.take)
	return err
}

// Close ends the reading and the connection.
func (r *Reader) Close() {
	r.reading.Stop()
	<-r.reading.Closed()
	r.nc.Close()
}

// Distinct returns how many different events it has seen.
func (r *Reader) Distinct() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.distinct)
}

// Messages returns what it has seen so far.
func (r *Reader) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Message(nil), r.messages...)
}

// AtEnd says whether it has read the last message that the stream has now.
func (r *Reader) AtEnd(ctx context.Context) (bool, error) {
	info, err := r.stream.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("look for the end of the stream: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return info.State.Msgs == uint64(len(r.messages)), nil
}

func (r *Reader) take(msg jetstream.Msg) {
	m := decode(msg)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, m)
	if m.ID != "" {
		r.distinct[m.ID] = true
	}
}

// decode reads a message as any consumer would. The version comes from the payload,
// everything else from the attributes.
func decode(msg jetstream.Msg) Message {
	m := Message{Event: Event{Digest: sha256.Sum256(msg.Data())}}
	if metadata, err := msg.Metadata(); err == nil {
		m.Sequence = metadata.Sequence.Stream
	}
	e, err := wire.Decode(msg.Headers(), msg.Data())
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		m.Fault = "is no CloudEvent: " + err.Error()
		return m
	}
	m.ID, m.Source, m.Type = e.ID(), e.Source(), e.Type()
	m.Key, _ = e.Extensions()["partitionkey"].(string)
	var payload struct{ Version int }
	if json.Unmarshal(e.Data(), &payload) == nil { // else its digest is wrong, too
		m.Version = payload.Version
	}
	switch {
	case !strings.HasSuffix(msg.Subject(), "."+m.Type):
		m.Fault = fmt.Sprintf("has the subject %s and the type %s", msg.Subject(), m.Type)
	case msg.Headers().Get(nats.MsgIdHdr) != wire.MsgID(m.Source, m.ID):
		m.Fault = "has a foreign " + nats.MsgIdHdr
	case e.Time().IsZero():
		m.Fault = "has no time"
	}
	return m
}
