package wire_test

import (
	"bytes"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// FuzzDecode feeds Decode with header lines and a body as they could arrive.
// It must answer with an event that has what an event needs, or with one of the
// documented errors. What can be stored must survive both modes.
func FuzzDecode(f *testing.F) {
	for _, c := range goldenCases {
		for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
			msg := encode(f, wire.Config{Mode: mode}, c.rec)
			var lines bytes.Buffer
			for name, values := range msg.Header {
				lines.WriteString(name + ": " + values[0] + "\r\n")
			}
			f.Add(lines.Bytes(), msg.Data)
		}
	}
	const head = "ce-specversion: 1.0\r\nce-id: 1\r\nce-source: /s\r\nce-type: t\r\n"
	for _, line := range []string{
		"ce-subject: %C0%A0\r\n", "ce-subject: \"a \\\"b\\\"\"\r\n", "CE-ID: 2\r\n", "ce-foo: \r\n", "ce-time: x\r\n",
		"ce-time: 2018-04-05T17:31:00.123456789+14:00\r\n", "content-type: text/plain\r\n", "ce-source: HTTP://x/%zz\r\n",
	} {
		f.Add([]byte(head+line), []byte(`{}`))
	}
	for _, members := range []string{
		`,"data":{"a":[1,"\ud800"]}}`, `,"data_base64":"\/\/8="}`, `,"a":-0,"b":true,"c":null,"d":"\u20ac"}`, `,"\u0061":"x"} `,
	} {
		f.Add([]byte("content-type: application/cloudevents\r\n"), []byte(jsonHead+members))
	}
	f.Fuzz(func(t *testing.T, lines, body []byte) {
		header, err := nats.DecodeHeadersMsg([]byte("NATS/1.0\r\n" + string(lines) + "\r\n"))
		if err != nil {
			return
		}
		ev, err := wire.Decode(header, bytes.Clone(body))
		if err != nil {
			var invalid *wire.InvalidError
			if !errors.Is(err, wire.ErrNotCloudEvent) && !errors.As(err, &invalid) {
				t.Fatalf("error of an undocumented type: %T %v", err, err)
			}
			return
		}
		if ev.ID() == "" || ev.Source() == "" || ev.Type() == "" || ev.SpecVersion() != "1.0" {
			t.Fatalf("event lacks what is required: %v", ev)
		}
		for _, text := range []string{ev.ID(), ev.Source(), ev.Type(), ev.Subject(), ev.DataSchema(), ev.DataContentType()} {
			if !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0 {
				t.Fatalf("attribute is not text: %q", text)
			}
		}
		checkStorable(t, stored(t, ev))
	})
}

// checkStorable encodes a foreign event as our own, if it can be one.
func checkStorable(t *testing.T, rec *outbox.Record) {
	t.Helper()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		msg, err := newEncoder(t, wire.Config{Mode: mode}).Encode(rec)
		if err != nil {
			var invalid *wire.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("error of an undocumented type: %T %v", err, err)
			}
			return
		}
		want := *rec
		want.Time = want.Time.Round(time.Nanosecond).UTC()
		if mode == wire.Binary {
			want.Extensions = asStrings(t, want.Extensions)
			if len(want.Data) == 0 {
				want.Data = nil
			}
		}
		got := stored(t, decode(t, travel(t, msg.Header, false), msg.Data))
		if diff := diffRecords(&want, got); diff != "" {
			t.Fatalf("%v: event differs after a round trip (-want +got):\n%s", mode, diff)
		}
	}
}
