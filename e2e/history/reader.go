package history

import (
	"context"
	"fmt"
	"slices"
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
	// Version reads the version of an event from its payload. By default it is the
	// extension "version".
	Version func(payload []byte) int
}

// silence is how long the end of a stream may be waited for without a message.
const silence = time.Minute

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
	if s.Version != nil && m.Fault == "" {
		m.Version = s.Version(msg.Data())
	}
	return m, nil
}

// Follower is a consumer that reads while things happen, each message once and in the order of
// the stream. It is safe for concurrent use.
type Follower struct {
	source  Source
	nc      *nats.Conn
	stream  jetstream.Stream
	reading jetstream.ConsumeContext

	mu       sync.Mutex // guards the fields below; the client's goroutine writes them
	messages []Message
	distinct map[Name]bool
}

// Follow begins to read a stream from its first message on. Stop ends it.
func Follow(ctx context.Context, s Source) (*Follower, error) {
	nc, js, err := s.connect()
	if err != nil {
		return nil, err
	}
	f := &Follower{source: s, nc: nc, distinct: map[Name]bool{}}
	if err := f.begin(ctx, js); err != nil {
		nc.Close()
		return nil, fmt.Errorf("follow stream %s: %w", s.Stream, err)
	}
	return f, nil
}

func (f *Follower) begin(ctx context.Context, js jetstream.JetStream) (err error) {
	if f.stream, err = js.Stream(ctx, f.source.Stream); err != nil {
		return err
	}
	consumer, err := f.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	f.reading, err = consumer.Consume(f.take)
	return err
}

func (f *Follower) take(msg jetstream.Msg) {
	m, err := f.source.decode(msg)
	if err != nil {
		return // no message of a stream
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, m)
	if m.ID != "" {
		f.distinct[m.Name] = true
	}
}

// Messages returns what it has read.
func (f *Follower) Messages() []Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.messages)
}

// Distinct returns how many different events it has read.
func (f *Follower) Distinct() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.distinct)
}

// AtEnd says whether it has read as many messages as the stream has now.
func (f *Follower) AtEnd(ctx context.Context) (bool, error) {
	info, err := f.stream.Info(ctx)
	if err != nil {
		return false, fmt.Errorf("look for the end of stream %s: %w", f.source.Stream, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return info.State.Msgs == uint64(len(f.messages)), nil
}

// Stop ends the reading and returns what was read. To stop twice is harmless.
func (f *Follower) Stop() []Read {
	f.reading.Stop()
	<-f.reading.Closed()
	f.nc.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	reads := make([]Read, len(f.messages))
	for i, m := range f.messages {
		reads[i] = Read{MessageID: m.MessageID, Sequence: m.Sequence}
	}
	return reads
}
