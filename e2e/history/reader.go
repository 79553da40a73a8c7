package history

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Source is a stream to read.
type Source struct {
	Servers string // addresses, separated by commas
	Stream  string
	Prefix  string // of its subjects, before the type of the event
}

// silence is how long the end of a stream may be waited for without a message.
const silence = 10 * time.Second

// ReadStream reads the whole stream, from its first message to what is its last one now.
func ReadStream(ctx context.Context, s Source) ([]Message, error) {
	nc, js, err := s.connect()
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	stream, err := js.Stream(ctx, s.Stream)
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	last := stream.CachedInfo().State.LastSeq
	var list []Message
	if stream.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", s.Stream, err)
	}
	defer messages.Stop()
	for {
		ctx, cancel := context.WithTimeout(ctx, silence)
		msg, err := messages.Next(jetstream.NextContext(ctx))
		cancel()
		if err != nil {
			return nil, fmt.Errorf("read stream %s after %d of %d messages: %w", s.Stream, len(list), last, err)
		}
		m, err := s.decode(msg)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		if m.Sequence >= last {
			return list, nil
		}
	}
}

func (s Source) connect() (*nats.Conn, jetstream.JetStream, error) {
	nc, err := nats.Connect(s.Servers, nats.Name("history"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return nil, nil, fmt.Errorf("connect the reader of stream %s: %w", s.Stream, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return nc, js, nil
}

func (s Source) decode(msg jetstream.Msg) (Message, error) {
	metadata, err := msg.Metadata()
	if err != nil {
		return Message{}, err
	}
	m := message(s.Prefix, msg.Subject(), msg.Headers(), msg.Data())
	m.Sequence, m.At = metadata.Sequence.Stream, metadata.Timestamp
	return m, nil
}

// Follower is a consumer that reads while things happen. Safe for concurrent use.
type Follower struct {
	nc      *nats.Conn
	reading jetstream.ConsumeContext

	mu    sync.Mutex // guards reads; the client's goroutine writes it
	reads []Read
}

// Follow begins to read a stream from its first message on. Stop ends it.
func Follow(ctx context.Context, s Source) (*Follower, error) {
	nc, js, err := s.connect()
	if err != nil {
		return nil, err
	}
	f := &Follower{nc: nc}
	consumer, err := js.OrderedConsumer(ctx, s.Stream, jetstream.OrderedConsumerConfig{})
	if err == nil {
		f.reading, err = consumer.Consume(f.take)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("follow stream %s: %w", s.Stream, err)
	}
	return f, nil
}

func (f *Follower) take(msg jetstream.Msg) {
	metadata, err := msg.Metadata()
	if err != nil {
		return // no message of a stream
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, Read{MessageID: msg.Headers().Get(jetstream.MsgIDHeader), Sequence: metadata.Sequence.Stream})
}

// Count returns how many messages it has read.
func (f *Follower) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.reads)
}

// Stop ends the reading and returns what was read.
func (f *Follower) Stop() []Read {
	f.reading.Stop()
	<-f.reading.Closed()
	f.nc.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}
