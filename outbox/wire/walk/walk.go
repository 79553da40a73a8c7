package walk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// firstLook is how long a message is waited for before the broker is asked whether one is left. The wait
	// doubles up to lastLook while none comes; after a wait of that length another consumer is made.
	firstLook = 20 * time.Millisecond
	lastLook  = 5 * time.Second
	// heartbeat is how often the broker says that it is there. Two that do not come within a look end it, so
	// lastLook must be longer than that.
	heartbeat = time.Second
	// askLimit bounds a question to the broker.
	askLimit = 5 * time.Second
	// forgetLimit bounds the removal of consumers. It is best effort, and whoever reads waits for it.
	forgetLimit = 2 * time.Second
	// forgetAfter is when the broker removes a consumer that nobody reads from.
	forgetAfter = time.Minute
	// pullBytes is how much of the stream the client asks for at a time, and pullHeaders how many messages without
	// their bodies: it keeps room for as many as it may ask for.
	pullBytes   = 1 << 20
	pullHeaders = 1000
)

// Config says what is read. The zero value reads the whole stream.
type Config struct {
	// From is the sequence of the first message. Defaults to the first that there is.
	From uint64
	// Since leaves out what was stored before it, by the clock of the broker. Not together with From. Defaults to
	// no bound.
	Since time.Time
	// HeadersOnly says that the bodies are not needed.
	HeadersOnly bool
	// Patience is how long no message may come before the end. Defaults to 1 min.
	Patience time.Duration
}

// Stream hands each message of a stream to each, from where the Config says to the one that was the last when the
// description was taken. What each returns ends it, and is returned. Errors, beside that and the one of ctx:
// [*EndError].
func Stream(ctx context.Context, js jetstream.JetStream, described *jetstream.StreamInfo, cfg Config, each func(Message) error) error {
	if described.State.Msgs == 0 || cfg.From > described.State.LastSeq {
		return nil
	}
	if cfg.Patience == 0 {
		cfg.Patience = time.Minute
	}
	w := &walker{js: js, stream: described, cfg: cfg, each: each}
	defer w.drop(ctx)
	return w.run(ctx)
}

// Message is a message of a stream.
type Message struct {
	Header   nats.Header
	Data     []byte // may be left out with HeadersOnly
	Sequence uint64
	Stored   time.Time // by the clock of the broker
}

// walker is one reading. It belongs to one goroutine.
type walker struct {
	js     jetstream.JetStream
	stream *jetstream.StreamInfo // as it was when the reading began
	cfg    Config
	each   func(Message) error

	at       uint64 // the sequence that was read last
	done     bool
	oneByOne bool             // no consumer can be made
	leader   jetstream.Stream // of oneByOne; nil until it was asked

	consumer jetstream.Consumer // nil when one has to be made
	messages jetstream.MessagesContext
	came     uint64   // how many messages came from the consumer
	left     []string // names of the consumers that are made and not known to be gone
}

// handed is an error of whom the messages are handed to, final one that no waiting mends.
type (
	handed struct{ error }
	final  struct{ error }
)

func (w *walker) run(ctx context.Context) error {
	var cause error // why the last look ended, if that was no silence
	wait, heard := firstLook, time.Now()
	for {
		some, err := w.look(ctx, wait)
		var own handed
		var last final
		switch {
		case errors.As(err, &own):
			return own.error
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &last):
			return w.failed(last.error)
		case w.done:
			return nil
		}
		if some {
			wait, heard, cause = firstLook, time.Now(), nil
		}
		if err != nil {
			cause = err
		}
		if time.Since(heard) >= w.cfg.Patience {
			return w.stalled(cause)
		}
		if err != nil || wait == lastLook {
			w.drop(ctx)
		}
		if err != nil && !pause(ctx, wait) {
			return ctx.Err()
		}
		if !some {
			wait = min(2*wait, lastLook)
		}
	}
}

// look reads what comes within a time, and when nothing came it asks whether anything is left.
func (w *walker) look(ctx context.Context, wait time.Duration) (some bool, err error) {
	if w.consumer == nil && !w.oneByOne {
		if err := w.begin(ctx); err != nil {
			return false, err
		}
	}
	if w.oneByOne {
		return w.get(ctx, wait)
	}
	look, cancel := context.WithTimeout(ctx, min(wait, w.cfg.Patience))
	defer cancel()
	for !w.done {
		msg, err := w.messages.Next(jetstream.NextContext(look))
		if err != nil && look.Err() != nil {
			break
		}
		if err == nil {
			err = w.hand(msg)
		}
		if err != nil {
			return some, err
		}
		some = true
	}
	if some {
		return true, nil
	}
	return false, w.ask(ctx)
}

var errGap = errors.New("messages were lost on their way")

func (w *walker) hand(msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	if meta.Sequence.Consumer != w.came+1 {
		return errGap
	}
	w.came++
	return w.pass(Message{Header: msg.Headers(), Data: msg.Data(), Sequence: meta.Sequence.Stream, Stored: meta.Timestamp})
}

// pass hands a message on if it is one of those that are read.
func (w *walker) pass(m Message) error {
	// A replica that lags begins earlier than it was told to: at its own end.
	if m.Sequence > w.at && m.Sequence >= w.cfg.From && m.Sequence <= w.stream.State.LastSeq && !m.Stored.Before(w.cfg.Since) {
		if err := w.each(m); err != nil {
			return handed{err}
		}
	}
	w.at = max(w.at, m.Sequence)
	w.done = w.at >= w.stream.State.LastSeq
	return nil
}

// begin makes a consumer that goes on behind what was read.
func (w *walker) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	cfg := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: w.cfg.HeadersOnly,
		Name: rand.Text(), MemoryStorage: true, InactiveThreshold: forgetAfter,
	}
	// How many replicas it has the broker decides: one where messages stay until the limits drop them. Where their
	// consumers decide, it must have as many as the stream, and any other number is refused before all else.
	switch {
	case w.at > 0 || w.cfg.From > 0:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, max(w.at+1, w.cfg.From)
	case !w.cfg.Since.IsZero():
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &w.cfg.Since
	}
	w.forget(ctx)
	w.left = append(w.left, cfg.Name) // it may be made although its answer is lost
	consumer, err := w.js.CreateConsumer(ctx, w.stream.Config.Name, cfg)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.Code < 500 {
		w.left = w.left[:len(w.left)-1]
	}
	switch {
	case errors.As(err, &api) && (api.ErrorCode == codeNeedsAck || api.ErrorCode == codeNotUnique):
		w.oneByOne = true
		return nil
	case errors.As(err, &api) && api.Code < 500:
		return final{err}
	case err != nil:
		return err
	}
	// A pull that is smaller than a message would wait for ever.
	var share jetstream.PullMessagesOpt = jetstream.PullMaxBytes(max(pullBytes, 2*int(w.js.Conn().MaxPayload())))
	if w.cfg.HeadersOnly {
		share = jetstream.PullMaxMessages(pullHeaders)
	}
	messages, err := consumer.Messages(share, jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return err
	}
	w.consumer, w.messages, w.came = consumer, messages, 0
	_, err = w.same(ctx) // the consumer may be of another stream that has the name
	return err
}

// ask ends the reading when nothing is left: the consumer began behind the last sequence, or it lies beside the
// leader of the stream and nothing is pending. The stream is asked first, so that its leader had all of it when the
// consumer is asked. A consumer of another replica says nothing about the end, and is dropped.
func (w *walker) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	stream, err := w.same(ctx)
	if err != nil {
		return err
	}
	info, err := w.consumer.Info(ctx)
	switch {
	case err != nil:
		return err
	case info.Delivered.Consumer != w.came:
		return nil // some are on their way
	case info.Delivered.Stream >= w.stream.State.LastSeq:
		w.done = true
	case info.NumPending > 0:
	case BesideLeader(info, stream):
		w.done = true
	default:
		w.drop(ctx)
	}
	return nil
}

// same asks for the stream, and whether it is the one that it was.
func (w *walker) same(ctx context.Context) (*jetstream.StreamInfo, error) {
	found, err := w.js.Stream(ctx, w.stream.Config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, final{err}
	}
	if err != nil {
		return nil, err
	}
	now := found.CachedInfo()
	if !now.Created.Equal(w.stream.Created) || now.State.LastSeq < w.stream.State.LastSeq {
		return nil, final{ErrChanged}
	}
	return now, nil
}

// drop leaves the consumer and removes it: as long as it is there it counts against the limit of the stream, and where
// messages stay for those that are interested in them, it keeps them.
func (w *walker) drop(ctx context.Context) {
	if w.messages != nil {
		w.messages.Stop()
	}
	w.consumer, w.messages = nil, nil
	w.forget(context.WithoutCancel(ctx))
}

// forget removes the consumers that are left, for a short time. What it cannot remove, the next one tries, and at last
// the broker does, when nobody has read from it for a while.
func (w *walker) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, forgetLimit)
	defer cancel()
	for len(w.left) > 0 && w.js.Conn().IsConnected() {
		err := w.js.DeleteConsumer(ctx, w.stream.Config.Name, w.left[0])
		var api *jetstream.APIError
		if err != nil && !(errors.As(err, &api) && api.Code < 500) {
			return
		}
		w.left = w.left[1:]
	}
}

func (w *walker) failed(err error) error {
	return &EndError{Stream: w.stream.Config.Name, After: w.at, Err: err}
}

func (w *walker) stalled(cause error) error {
	text := fmt.Sprintf("no message within %s, and its end was not reached", w.cfg.Patience)
	if cause == nil {
		return w.failed(errors.New(text))
	}
	return w.failed(fmt.Errorf("%s: %w", text, cause))
}

// pause waits and reports whether ctx is alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
