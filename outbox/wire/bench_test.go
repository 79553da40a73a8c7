package wire_test

import (
	"bytes"
	"testing"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// benchCases are 512-byte events.
var benchCases = []struct {
	name string
	mode wire.Mode
	rec  *outbox.Record
}{
	{"binary", wire.Binary, ofSize(order())},
	{"binary-trace", wire.Binary, ofSize(with(func(r *outbox.Record) {
		r.Extensions = []byte(`{"tracestate": "vendor=1", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`)
	}))},
	{"binary-escapes", wire.Binary, ofSize(with(func(r *outbox.Record) {
		r.Subject = "Bestellung für Größe € 42"
		r.Extensions = []byte(`{"note": "a \"quoted\" \u20ac"}`)
	}))},
	{"structured", wire.Structured, ofSize(order())},
	{"structured-base64", wire.Structured, ofSize(with(func(r *outbox.Record) { r.DataContentType = "application/x-protobuf" }))},
}

func ofSize(rec *outbox.Record) *outbox.Record {
	rec.Data = []byte(`{"text":"` + string(bytes.Repeat([]byte("x"), 501)) + `"}`)
	return rec
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			e := newEncoder(b, wire.Config{Stream: "EVENTS", Mode: c.mode})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Encode(c.rec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			msg := encode(b, wire.Config{Stream: "EVENTS", Mode: c.mode}, c.rec)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Decode(msg.Header, msg.Data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMsgID(b *testing.B) {
	rec := order()
	b.ReportAllocs()
	for b.Loop() {
		_ = wire.MsgID(rec.Source, rec.ID)
	}
}

// The relay encodes tens of thousands of events a second on a shared core. It
// must not run in parallel with tests that allocate.
func TestEncodeAllocations(t *testing.T) {
	for _, c := range []struct {
		name string
		mode wire.Mode
		rec  *outbox.Record
		most float64
	}{
		{"binary", wire.Binary, order(), 6},
		{"binary with trace context", wire.Binary, benchCases[1].rec, 6},
		{"structured", wire.Structured, order(), 6},
	} {
		e := newEncoder(t, wire.Config{Stream: "EVENTS", Mode: c.mode})
		got := testing.AllocsPerRun(200, func() {
			if _, err := e.Encode(c.rec); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.most)
		}
	}
}
