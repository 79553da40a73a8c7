package check_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/demo/check"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// encode makes a message as the relay does.
func encode(t *testing.T, version int) *nats.Msg {
	t.Helper()
	encoder, err := wire.NewEncoder(wire.Config{Stream: "TEST"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := encoder.Encode(&outbox.Record{
		ID: fmt.Sprint("id-", version), Source: "/test", Type: "thing.changed", PartitionKey: "key", Time: time.Unix(1, 0),
		DataContentType: "application/json", Data: fmt.Appendf(nil, `{"version":%d}`, version),
	})
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// TestReaderReadsWhatIsThereAndWhatComes also shows it messages that no relay makes.
func TestReaderReadsWhatIsThereAndWhatComes(t *testing.T) {
	t.Parallel()
	server := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, server.URL(), "TEST", "events.>")
	send := func(msg *nats.Msg) {
		t.Helper()
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	send(encode(t, 1))
	reader, err := check.Read(t.Context(), server.URL(), "TEST")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	send(encode(t, 2))
	bare := nats.NewMsg("events.thing.changed")
	bare.Data = []byte("no event")
	send(bare)
	elsewhere := encode(t, 3)
	elsewhere.Subject = "events.other"
	send(elsewhere)
	foreign := encode(t, 4)
	foreign.Header.Set(jetstream.MsgIDHeader, "foreign")
	send(foreign)
	timeless := encode(t, 5)
	delete(timeless.Header, "ce-time")
	send(timeless)

	atEnd := func() bool {
		end, err := reader.AtEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return end && len(reader.Messages()) == 6
	}
	for deadline := time.Now().Add(30 * time.Second); !atEnd(); time.Sleep(time.Millisecond) { // between two looks
		if time.Now().After(deadline) {
			t.Fatalf("read %d of 6 messages", len(reader.Messages()))
		}
	}
	event := func(version int) check.Event {
		return check.Event{ID: fmt.Sprint("id-", version), Source: "/test", Type: "thing.changed", Key: "key", Version: version,
			Digest: sha256.Sum256(fmt.Appendf(nil, `{"version":%d}`, version))}
	}
	want := []check.Message{
		{Event: event(1), Sequence: 1},
		{Event: event(2), Sequence: 2},
		{Event: check.Event{Digest: sha256.Sum256([]byte("no event"))}, Sequence: 3, Fault: "is no CloudEvent: " + wire.ErrNotCloudEvent.Error()},
		{Event: event(3), Sequence: 4, Fault: "has the subject events.other and the type thing.changed"},
		{Event: event(4), Sequence: 5, Fault: "has a foreign Nats-Msg-Id"},
		{Event: event(5), Sequence: 6, Fault: "has no time"},
	}
	if diff := cmp.Diff(want, reader.Messages()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := reader.Distinct(); got != 5 {
		t.Errorf("%d distinct events, want 5", got)
	}
}
