package walk_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

const (
	streamName = "EVENTS"
	workerName = "worker"
	limit      = time.Minute // for what must end
	generous   = 90 * time.Second
	many       = 5000 // with their bodies, more than the client asks for at once
)

// body of the message with a number.
func body(n int) []byte { return []byte(strings.Repeat("x", 1000) + strconv.Itoa(n)) }

// bench is a stream of messages that say their numbers.
type bench struct {
	t      *testing.T
	js     jetstream.JetStream
	stream jetstream.Stream
}

func newBench(t *testing.T, replicas int, urls ...string) *bench {
	t.Helper()
	nc, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b := &bench{t: t}
	if b.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(500)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(limit)
	for b.stream = b.create(replicas); b.stream == nil; b.stream = b.create(replicas) {
		if time.Now().After(deadline) {
			t.Fatal("the stream is not made")
		}
	}
	return b
}

// create makes the stream; nil when the broker cannot yet.
func (b *bench) create(replicas int) jetstream.Stream {
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Second)
	defer cancel()
	stream, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Replicas: replicas})
	if err != nil {
		return nil
	}
	return stream
}

// remake makes the stream anew, with a retention and a worker that takes from it.
func (b *bench) remake(retention jetstream.RetentionPolicy, replicas int) (worker jetstream.Consumer) {
	b.t.Helper()
	if err := b.js.DeleteStream(b.t.Context(), streamName); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the stream is made anew", func(ctx context.Context) (err error) {
		b.stream, err = b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{"events.>"}, Retention: retention, Replicas: replicas})
		if err == nil {
			worker, err = b.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: workerName, AckPolicy: jetstream.AckExplicitPolicy})
		}
		return err
	})
	return worker
}

// eventually repeats ok until it succeeds.
func (b *bench) eventually(what string, ok func(context.Context) error) {
	b.t.Helper()
	deadline := time.Now().Add(generous)
	for {
		ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
		err := ok(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %s: %s: %v", generous, what, err)
		}
		select {
		case <-b.t.Context().Done():
			b.t.Fatalf("test ended before: %s: %v", what, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// onlyTheWorker demands that no consumer of a reading is there.
func (b *bench) onlyTheWorker() {
	b.t.Helper()
	names := b.stream.ConsumerNames(b.t.Context())
	for name := range names.Name() {
		if name != workerName {
			b.t.Errorf("consumer %s is left", name)
		}
	}
	if err := names.Err(); err != nil {
		b.t.Error(err)
	}
}

// publish stores messages with the numbers from to to, each until it is acknowledged.
func (b *bench) publish(from, to int) {
	b.t.Helper()
	acks := map[int]jetstream.PubAckFuture{}
	for n := from; n < to; n++ {
		ack, err := b.js.PublishAsync("events.x", body(n), jetstream.WithMsgID(strconv.Itoa(n)), jetstream.WithStallWait(limit))
		if err != nil {
			b.t.Fatal(err)
		}
		acks[n] = ack
	}
	for n, ack := range acks {
		select {
		case <-ack.Ok():
		case <-ack.Err():
			if _, err := b.js.Publish(b.t.Context(), "events.x", body(n), jetstream.WithMsgID(strconv.Itoa(n))); err != nil {
				b.t.Fatal(err)
			}
		case <-b.t.Context().Done():
			b.t.Fatal("the messages were not stored")
		}
	}
}

// delete takes messages out of the stream, by their sequences.
func (b *bench) delete(from, to uint64) {
	b.t.Helper()
	for seq := from; seq <= to; seq++ {
		if err := b.stream.DeleteMsg(b.t.Context(), seq); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) info() *jetstream.StreamInfo {
	b.t.Helper()
	info, err := b.stream.Info(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return info
}

// read is what came of a stream.
type read struct {
	seqs []uint64
	err  error
}

// walk reads the stream as it is described, does something once the first message came, and demands that
// the reading ends.
func (b *bench) walk(ctx context.Context, described *jetstream.StreamInfo, cfg walk.Config, then func()) read {
	b.t.Helper()
	began, ended := make(chan struct{}), make(chan read)
	acted := make(chan struct{})
	go func() {
		var r read
		r.err = walk.Stream(ctx, b.js, described, cfg, func(m walk.Message) error {
			if r.seqs = append(r.seqs, m.Sequence); len(r.seqs) == 1 && then != nil {
				close(began)
				<-acted
			}
			return nil
		})
		ended <- r
	}()
	select {
	case <-began:
		then()
		close(acted)
	case r := <-ended:
		return r
	case <-time.After(limit):
		b.t.Fatal("the reading does not begin")
	}
	select {
	case r := <-ended:
		return r
	case <-time.After(limit):
		b.t.Fatal("the reading does not end")
	}
	return read{}
}

// wants demands the sequences from to to, each once and in order.
func (b *bench) wants(r read, from, to uint64) {
	b.t.Helper()
	if r.err != nil {
		b.t.Errorf("after %d messages: %v", len(r.seqs), r.err)
	}
	for i, seq := range r.seqs {
		if seq != from+uint64(i) {
			b.t.Fatalf("message %d has sequence %d, want %d", i, seq, from+uint64(i))
		}
	}
	if len(r.seqs) != int(to-from+1) {
		b.t.Errorf("%d messages, want %d", len(r.seqs), to-from+1)
	}
}
