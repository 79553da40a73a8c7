package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// newJetStream starts a server in this process, with a stream EVENTS for the
// default subjects.
func newJetStream(t *testing.T) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatalf("new server: %v", err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready after 10 s")
	}
	conn, err := nats.Connect(srv.ClientURL())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{newEncoder(t, wire.Config{}).Subjects()}, AllowRollup: true,
	})
	if err != nil {
		t.Fatalf("create stream: %v", err)
	}
	return js, stream
}

// A real server stores our headers as we wrote them, deduplicates by our
// message id and obeys the expected stream.
func TestThroughServer(t *testing.T) {
	t.Parallel()
	js, stream := newJetStream(t)
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		e := newEncoder(t, wire.Config{Stream: "EVENTS", Mode: mode})
		for _, c := range goldenCases {
			rec := *c.rec
			rec.ID = mode.String() + c.name
			msg, err := e.Encode(&rec)
			if err != nil {
				t.Fatal(err)
			}
			ack, err := js.PublishMsg(t.Context(), msg)
			if err != nil {
				t.Fatalf("%v/%s: publish: %v", mode, c.name, err)
			}
			raw, err := stream.GetMsg(t.Context(), ack.Sequence)
			if err != nil {
				t.Fatalf("%v/%s: get: %v", mode, c.name, err)
			}
			if diff := cmp.Diff(msg.Header, raw.Header); diff != "" || raw.Subject != msg.Subject {
				t.Errorf("%v/%s: stored as %q (-sent +stored):\n%s", mode, c.name, raw.Subject, diff)
			}
			want := rec
			if mode == wire.Binary {
				want.Extensions = asStrings(t, want.Extensions)
				if len(want.Data) == 0 {
					want.Data = nil
				}
			}
			if diff := diffRecords(&want, stored(t, decode(t, raw.Header, raw.Data))); diff != "" {
				t.Errorf("%v/%s: event differs (-want +got):\n%s", mode, c.name, diff)
			}
			again, err := e.Encode(&rec)
			if err != nil {
				t.Fatal(err)
			}
			if ack, err = js.PublishMsg(t.Context(), again); err != nil || !ack.Duplicate {
				t.Errorf("%v/%s: second publish: %+v, %v; want a duplicate", mode, c.name, ack, err)
			}
		}
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(2 * len(goldenCases)); info.State.Msgs != want {
		t.Errorf("the stream has %d messages, want %d", info.State.Msgs, want)
	}
	_, err = js.PublishMsg(t.Context(), encode(t, wire.Config{Stream: "OTHER"}, order()))
	wantAPIError(t, err, 10060)
}

// The largest header block that JetStream takes is MaxHeaderSize.
func TestMaxHeaderSizeIsTheServers(t *testing.T) {
	t.Parallel()
	js, _ := newJetStream(t)
	base := encode(t, wire.Config{}, with(func(r *outbox.Record) { r.Subject = "s" }))
	room := wire.MaxHeaderSize - wire.HeaderSize(base.Header) + 1
	publish := func(id string, length int) error {
		msg := encode(t, wire.Config{}, with(func(r *outbox.Record) {
			r.ID = id + r.ID[1:]
			r.Subject = strings.Repeat("s", length)
		}))
		_, err := js.PublishMsg(t.Context(), msg)
		return err
	}
	if err := publish("a", room); err != nil {
		t.Errorf("a header block of %d bytes: %v", wire.MaxHeaderSize, err)
	}
	wantAPIError(t, publish("b", room+1), 10097)
}

func wantAPIError(t *testing.T, err error, code jetstream.ErrorCode) {
	t.Helper()
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != code {
		t.Errorf("error is %v, want err_code %d", err, code)
	}
}
