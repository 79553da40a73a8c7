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

// readStream is a truth of many messages of a stream that something happens to once its first record was read.
func readStream(t *testing.T, patience time.Duration, then func(js jetstream.JetStream, server *harness.NATS) error) (read int, err error) {
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
	table := effects.Table{Account: "account", Key: []effects.Part{{Name: "refund"}}, Told: map[string]map[string]string{"refund.made": nil}}
	s := Stream(js, "EVENTS", table, time.Time{}, time.Time{}).(*stream)
	s.patience = patience
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = s.Records(ctx, func(Record) error {
		if read++; read == 1 {
			return then(js, server)
		}
		return nil
	})
	return read, err
}

// TestStreamIsReadToItsEnd: also when its last messages are deleted while it is read, so that none of them comes.
func TestStreamIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	if read, err := readStream(t, time.Minute, func(jetstream.JetStream, *harness.NATS) error { return nil }); err != nil || read != many {
		t.Errorf("%d of %d records: %v", read, many, err)
	}
	read, err := readStream(t, time.Minute, func(js jetstream.JetStream, _ *harness.NATS) error {
		s, err := js.Stream(t.Context(), "EVENTS")
		if err != nil {
			return err
		}
		return s.Purge(t.Context())
	})
	if err != nil || read < 1 || read >= many {
		t.Errorf("%d records of a stream that was emptied: %v", read, err)
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
		}, "no message within 500ms"},
	} {
		read, err := readStream(t, 500*time.Millisecond, c.then)
		var end *walk.EndError
		if !errors.As(err, &end) || end.Hint() == "" || end.After == 0 || !strings.Contains(err.Error(), "read stream EVENTS after sequence ") || !strings.Contains(err.Error(), c.want) || read >= many {
			t.Errorf("%s: %d records: %v", name, read, err)
		}
	}
}
