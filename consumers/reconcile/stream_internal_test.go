package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers/effects"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// many is more than the client asks for at once, so that some are in the stream while the first is read.
const many = 3000

// before is a message that was deleted before the stream is read.
const before = 10

// manyIn is a truth of many messages of a stream.
func manyIn(t *testing.T, since time.Time) (*stream, *harness.NATS) {
	t.Helper()
	server := outboxtest.NewNATS(t)
	nc, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	outboxtest.NewStream(t, server.URL(), "EVENTS", "events.>")
	enc, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		msg, err := enc.Encode(&outbox.Record{ID: fmt.Sprint(i), Source: "/shop", Type: "refund.made", DataContentType: "application/json",
			Data: fmt.Appendf(nil, `{"account": "a", "refund": "%d", "note": "%s"}`, i, strings.Repeat("x", 2000))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.PublishMsgAsync(msg); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-t.Context().Done():
	}
	if stream, err := js.Stream(t.Context(), "EVENTS"); err != nil || stream.DeleteMsg(t.Context(), before) != nil {
		t.Fatal("a message cannot be deleted")
	}
	table := effects.Table{Account: "account", Key: []effects.Part{{Name: "refund"}}, Told: map[string]map[string]string{"refund.made": nil}}
	return Stream(js, "EVENTS", table, since, time.Time{}).(*stream), server
}

// readStream reads a truth of many messages of a stream that something happens to once its first record was read.
func readStream(t *testing.T, patience time.Duration, since time.Time, then func(js jetstream.JetStream, server *harness.NATS) error) (read int, err error) {
	t.Helper()
	s, server := manyIn(t, since)
	s.patience = patience
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = s.Records(ctx, func(Record) error {
		if read++; read == 1 {
			return then(s.js, server)
		}
		return nil
	})
	return read, err
}

// TestStreamIsReadToItsEnd: what was deleted before is no part of it, and what is removed when it was read does not matter. What is
// removed before it was read would be missing.
func TestStreamIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	remove := func(seqs ...uint64) func(jetstream.JetStream, *harness.NATS) error {
		return func(js jetstream.JetStream, _ *harness.NATS) error {
			s, err := js.Stream(t.Context(), "EVENTS")
			for _, seq := range seqs {
				if err == nil {
					err = s.DeleteMsg(t.Context(), seq)
				}
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		then  func(jetstream.JetStream, *harness.NATS) error
		whole bool
	}{
		"nothing happens":    {remove(), true},
		"what was read goes": {remove(1), true},
		"one of the middle":  {remove(many - 100), false},
		"the last ones":      {remove(many, many-1), false},
		"all of it is removed": {func(js jetstream.JetStream, _ *harness.NATS) error {
			s, err := js.Stream(t.Context(), "EVENTS")
			if err == nil {
				err = s.Purge(t.Context())
			}
			return err
		}, false},
	} {
		for window, since := range map[string]time.Time{"": {}, " of a window": time.Unix(1, 0)} {
			t.Run(name+window, func(t *testing.T) {
				t.Parallel()
				read, err := readStream(t, time.Minute, since, c.then)
				if c.whole {
					if err != nil || read != many-1 {
						t.Errorf("%d of %d records: %v", read, many-1, err)
					}
					return
				}
				var end *walk.EndError
				if !errors.As(err, &end) || !strings.Contains(err.Error(), "removed from it while it was read") {
					t.Errorf("%d of %d records: %v", read, many-1, err)
				}
			})
		}
	}
}

// TestStreamIsEmptiedBeforeItIsRead: it had messages when it was described, so that none of them is no quiet day.
func TestStreamIsEmptiedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]time.Time{"all of it": {}, "a window": time.Unix(1, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truth, _ := manyIn(t, since)
			s := MayBeEmpty(truth).(*stream)
			begin, found, err := s.describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stream, err := s.js.Stream(t.Context(), "EVENTS")
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			err = s.records(t.Context(), begin, found, func(Record) error { return errors.New("a record came") })
			var end *walk.EndError
			if !errors.As(err, &end) || !strings.Contains(err.Error(), fmt.Sprint(many-1, " messages were removed")) {
				t.Errorf("error is %v", err)
			}
			if err := s.Records(t.Context(), func(Record) error { return nil }); err != nil {
				t.Errorf("a stream that was emptied before: %v", err)
			}
		})
	}
}

// TestStreamThatCannotBeReadEnds: an error says so, and the messages that did not come are no part of a truth.
func TestStreamThatCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(js jetstream.JetStream, server *harness.NATS) error
		want string
	}{
		"the stream is deleted": {func(js jetstream.JetStream, _ *harness.NATS) error { return js.DeleteStream(t.Context(), "EVENTS") }, "stream not found"},
		"the broker is away": {func(_ jetstream.JetStream, server *harness.NATS) error {
			server.Stop()
			return nil
		}, "no message within 3s"},
	} {
		read, err := readStream(t, 3*time.Second, time.Time{}, c.then)
		var end *walk.EndError
		if !errors.As(err, &end) || end.Hint() == "" || end.After == 0 || !strings.Contains(err.Error(), "read stream EVENTS after sequence ") || !strings.Contains(err.Error(), c.want) || read >= many {
			t.Errorf("%s: %d records: %v", name, read, err)
		}
	}
}
