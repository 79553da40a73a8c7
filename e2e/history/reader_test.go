package history_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/e2e/history"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// encode makes a message as the relay does.
func encode(t *testing.T, id, key string, version int) *nats.Msg {
	t.Helper()
	encoder, err := wire.NewEncoder(wire.Config{Stream: "TEST"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := encoder.Encode(&outbox.Record{
		ID: id, Source: "/tést", Type: "thing.changed", PartitionKey: key, Time: time.Unix(1, 500),
		Extensions: fmt.Appendf(nil, `{"version":%d}`, version), Data: []byte(id + "\x00\r\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestReaderTakesTheVersionFromThePayload(t *testing.T) {
	t.Parallel()
	server := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, server.URL(), "TEST", "events.>")
	if _, err := js.PublishMsg(t.Context(), encode(t, "a", "k", 1)); err != nil {
		t.Fatal(err)
	}
	source := history.Source{Servers: server.URL(), Stream: "TEST", Prefix: "events", Version: func(payload []byte) int { return len(payload) }}
	got, err := history.ReadStream(t.Context(), source)
	if err != nil || len(got) != 1 || got[0].Version != 4 {
		t.Errorf("got %+v, %v; want version 4", got, err)
	}
}

// TestReaderReadsWhatTheRelayWrites holds the reader's own decoding against the relay's
// encoding, and shows it messages that no relay makes.
func TestReaderReadsWhatTheRelayWrites(t *testing.T) {
	t.Parallel()
	server := outboxtest.NewNATS(t)
	js := outboxtest.NewStream(t, server.URL(), "TEST", "events.>")
	source := history.Source{Servers: server.URL(), Stream: "TEST", Prefix: "events"}
	follower, err := history.Follow(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := history.ReadStream(t.Context(), source); err != nil || len(got) != 0 {
		t.Fatalf("an empty stream: %v, %v", got, err)
	}
	change := func(f func(*nats.Msg)) *nats.Msg {
		m := encode(t, "x", "k", 3)
		m.Header.Set(jetstream.MsgIDHeader, fmt.Sprint(time.Now().UnixNano()))
		f(m)
		return m
	}
	bare := nats.NewMsg("events.thing.changed")
	for _, m := range []*nats.Msg{
		encode(t, "a/1", `kéy "of" 100%`, 1),
		encode(t, "a/2", "", 2),
		bare,
		change(func(m *nats.Msg) { m.Subject = "events.other" }),
		change(func(m *nats.Msg) { delete(m.Header, "ce-time") }),
		change(func(m *nats.Msg) { delete(m.Header, "ce-id") }),
		change(func(m *nats.Msg) { m.Header["ce-note"] = []string{"%4"} }),
		change(func(m *nats.Msg) { m.Header["ce-note"] = []string{"a", "b"} }),
		change(func(m *nats.Msg) { m.Header["ce-version"] = []string{"three"} }),
	} {
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := history.ReadStream(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for i, m := range got {
		if m.Sequence != uint64(i+1) || m.At.IsZero() {
			t.Errorf("message %d has sequence %d and time %s", i+1, m.Sequence, m.At)
		}
		faults = append(faults, m.Fault)
	}
	name := func(id string) history.Name { return history.Name{Source: "/tést", ID: id} }
	want := []history.Event{
		{Name: name("a/1"), Type: "thing.changed", Key: `kéy "of" 100%`, Version: 1, Digest: sha256.Sum256([]byte("a/1\x00\r\n"))},
		{Name: name("a/2"), Type: "thing.changed", Version: 2, Digest: sha256.Sum256([]byte("a/2\x00\r\n"))},
	}
	if diff := cmp.Diff(want, []history.Event{got[0].Event, got[1].Event}); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got[0].MessageID != history.MessageID(name("a/1")) || got[0].MessageID != wire.MsgID("/tést", "a/1") {
		t.Errorf("message id %s", got[0].MessageID)
	}
	wantFaults := []string{
		"", "", "is no CloudEvent in binary mode", "has the subject events.other and the type thing.changed", `has the time ""`,
		"lacks its id, source or type", `has the header ce-note with the values ["%4"]`, `has the header ce-note with the values ["a" "b"]`,
		`has the version "three"`,
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	atEnd := func() bool {
		end, err := follower.AtEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	for deadline := time.Now().Add(90 * time.Second); !atEnd(); time.Sleep(time.Millisecond) { // between two looks
		if time.Now().After(deadline) {
			t.Fatalf("the follower read %d of %d", len(follower.Messages()), len(got))
		}
	}
	if diff := cmp.Diff(got, follower.Messages()); diff != "" {
		t.Errorf("the stream and what the follower read (-stream +read):\n%s", diff)
	}
	if n := follower.Distinct(); n != 3 { // the two sound ones, and those of the same id
		t.Errorf("%d distinct events, want 3", n)
	}
	reads := follower.Stop()
	follower.Stop()
	for i, r := range reads {
		if r.Sequence != got[i].Sequence || r.MessageID != got[i].MessageID {
			t.Errorf("the follower read %v, the stream has %d %s", r, got[i].Sequence, got[i].MessageID)
		}
	}
}
