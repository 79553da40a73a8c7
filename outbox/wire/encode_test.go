package wire_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

func TestEncodeRefusesWhatMustNotBeSent(t *testing.T) {
	t.Parallel()
	extension := func(object string) func(*outbox.Record) {
		return func(r *outbox.Record) { r.Extensions = []byte(object) }
	}
	for _, c := range []struct {
		name, field string
		change      func(*outbox.Record)
	}{
		{"no id", "id", func(r *outbox.Record) { r.ID = "" }},
		{"no source", "source", func(r *outbox.Record) { r.Source = "" }},
		{"no type", "type", func(r *outbox.Record) { r.Type = "" }},
		{"NUL in id", "id", func(r *outbox.Record) { r.ID = "a\x00b" }},
		{"NUL in source", "source", func(r *outbox.Record) { r.Source = "a\x00b" }},
		{"NUL in subject", "subject", func(r *outbox.Record) { r.Subject = "\x00" }},
		{"subject not UTF-8", "subject", func(r *outbox.Record) { r.Subject = "\xc0\xa0" }},
		{"partition key not UTF-8", "partitionkey", func(r *outbox.Record) { r.PartitionKey = "\xff" }},
		{"content type not UTF-8", "datacontenttype", func(r *outbox.Record) { r.DataContentType = "\xff" }},
		{"schema not UTF-8", "dataschema", func(r *outbox.Record) { r.DataSchema = "\xff" }},
		{"type with a wildcard", "type", func(r *outbox.Record) { r.Type = "a.*" }},
		{"type with a space", "type", func(r *outbox.Record) { r.Type = "a b" }},
		{"type with a line end", "type", func(r *outbox.Record) { r.Type = "a\r\nPUB x" }},
		{"type with an empty token", "type", func(r *outbox.Record) { r.Type = "a..b" }},
		{"type that ends in a dot", "type", func(r *outbox.Record) { r.Type = "a." }},
		{"type not UTF-8", "type", func(r *outbox.Record) { r.Type = "a.\xff" }},
		{"subject of the message too long", "record", func(r *outbox.Record) { r.Type = strings.Repeat("t", 4000) }},
		{"year 10000", "time", func(r *outbox.Record) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"capital in extension", "fooBar", extension(`{"fooBar":"x"}`)},
		{"underscore in extension", "x_y", extension(`{"x_y":"x"}`)},
		{"hyphen in extension", "x-y", extension(`{"x-y":"x"}`)},
		{"extension name too long", "abcdefghijklmnopqrstu", extension(`{"abcdefghijklmnopqrstu":"x"}`)},
		{"extension without a name", "", extension(`{"":"x"}`)},
		{"line end in extension name", "a\r\nNats-Rollup", extension(`{"a\r\nNats-Rollup":"all"}`)},
		{"roll-up", "Nats-Rollup", extension(`{"Nats-Rollup":"all"}`)},
		{"trace destination", "Nats-Trace-Dest", extension(`{"Nats-Trace-Dest":"x"}`)},
		{"trace destination in lower case", "nats-trace-dest", extension(`{"nats-trace-dest":"x"}`)},
		{"extension data", "data", extension(`{"data":"x"}`)},
		{"extension data_base64", "data_base64", extension(`{"data_base64":"x"}`)},
		{"extension id", "id", extension(`{"id":"x"}`)},
		{"extension specversion", "specversion", extension(`{"specversion":"0.3"}`)},
		{"extension time", "time", extension(`{"time":"x"}`)},
		{"extension partitionkey", "partitionkey", extension(`{"partitionkey":"x"}`)},
		{"escaped reserved name", "id", extension(`{"\u0069d":"x"}`)},
		{"extension twice", "a", extension(`{"a":"x","b":"y","a":"z"}`)},
		{"extension object", "a", extension(`{"a":{"b":1}}`)},
		{"extension array", "a", extension(`{"a":[1]}`)},
		{"extension fraction", "a", extension(`{"a":1.5}`)},
		{"extension exponent", "a", extension(`{"a":1e3}`)},
		{"extension out of range", "a", extension(`{"a":2147483648}`)},
		{"extension with NUL", "a", extension(`{"a":"\u0000"}`)},
		{"extension not UTF-8", "a", extension("{\"a\":\"\xff\"}")},
		{"extension lone surrogate", "a", extension(`{"a":"\ud800"}`)},
		{"extension bad escape", "a", extension(`{"a":"\x41"}`)},
		{"extension raw control character", "a", extension("{\"a\":\"\n\"}")},
		{"extension bare word", "a", extension(`{"a":yes}`)},
		{"extensions not an object", "extensions", extension(`["a"]`)},
		{"extensions cut off", "extensions", extension(`{"a":"x"`)},
		{"extensions with a comma too many", "extensions", extension(`{"a":"x",}`)},
		{"extensions without a comma", "extensions", extension(`{"a":"x" "b":"y"}`)},
		{"extensions with more behind", "extensions", extension(`{"a":"x"}{}`)},
	} {
		for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
			t.Run(c.name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				msg, err := newEncoder(t, wire.Config{Mode: mode}).Encode(with(c.change))
				wantInvalid(t, err, c.field)
				if msg != nil {
					t.Errorf("there is a message: %v", msg)
				}
			})
		}
	}
}

func TestEncodeRefusesNil(t *testing.T) {
	t.Parallel()
	_, err := newEncoder(t, wire.Config{}).Encode(nil)
	wantInvalid(t, err, "record")
}

func TestEncodeSkipsNullExtension(t *testing.T) {
	t.Parallel()
	msg := encode(t, wire.Config{}, with(func(r *outbox.Record) {
		r.Extensions = []byte(` { "a" : null , "b" : "x" } `)
	}))
	if _, ok := msg.Header["ce-a"]; ok || msg.Header.Get("ce-b") != "x" {
		t.Errorf("headers are %v, want ce-b and no ce-a", msg.Header)
	}
}

// Many extensions go beyond the room that the encoder has on its stack.
func TestEncodeManyExtensions(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, r := range "abcdefghijklmnopqrstuvwxyz" {
		want["x"+string(r)] = strings.Repeat("Größe ", 40)
	}
	object, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		msg := encode(t, wire.Config{Mode: mode}, with(func(r *outbox.Record) { r.Extensions = object }))
		got := decode(t, msg.Header, msg.Data).Extensions()
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%v: extension %s is %q, want %q", mode, name, got[name], value)
			}
		}
	}
}

// Whatever an event contains, no header may speak to the server except our
// own two.
func TestEncodeHeaderNames(t *testing.T) {
	t.Parallel()
	allowed := []string{"Content-Type", "Nats-Expected-Stream", "Nats-Msg-Id"}
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		for _, c := range goldenCases {
			for name, values := range encode(t, wire.Config{Stream: "S", Mode: mode}, c.rec).Header {
				lower := strings.HasPrefix(name, "ce-") && name == strings.ToLower(name)
				if !lower && !slices.Contains(allowed, name) {
					t.Errorf("%v/%s: unexpected header %q", mode, c.name, name)
				}
				if len(values) != 1 || strings.ContainsAny(values[0], "\r\n") {
					t.Errorf("%v/%s: header %s has values %q", mode, c.name, name, values)
				}
			}
		}
	}
}

func TestEncodeWithoutStream(t *testing.T) {
	t.Parallel()
	msg := encode(t, wire.Config{}, order())
	if v, ok := msg.Header["Nats-Expected-Stream"]; ok {
		t.Errorf("Nats-Expected-Stream is %q, want no such header", v)
	}
}

func TestEncodeMakesFreshMessages(t *testing.T) {
	t.Parallel()
	rec := with(func(r *outbox.Record) { r.Extensions = []byte(`{"a":"\u20ac"}`) })
	before := *rec
	before.Data = slices.Clone(rec.Data)
	before.Extensions = slices.Clone(rec.Extensions)
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		e := newEncoder(t, wire.Config{Mode: mode})
		first, err := e.Encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		for name := range first.Header {
			first.Header.Set(name, "changed")
			first.Header.Add(name, "more")
		}
		second, err := e.Encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		if want := encode(t, wire.Config{Mode: mode}, rec); !second.Equal(want) {
			t.Errorf("%v: changing one message changed the next:\n%s", mode, cmp.Diff(want.Header, second.Header))
		}
	}
	if diff := cmp.Diff(&before, rec); diff != "" {
		t.Errorf("Encode changed the record (-before +after):\n%s", diff)
	}
}

// The values of all headers share one array; growing one must not reach into
// the next.
func TestEncodeHeaderValuesAreApart(t *testing.T) {
	t.Parallel()
	msg := encode(t, wire.Config{}, order())
	want := nats.Header{}
	for name, values := range msg.Header {
		want[name] = slices.Clone(values)
	}
	for name := range msg.Header {
		_ = append(msg.Header[name], "intruder")
	}
	if diff := cmp.Diff(want, msg.Header); diff != "" {
		t.Errorf("headers changed (-want +got):\n%s", diff)
	}
}

func TestHeaderSize(t *testing.T) {
	t.Parallel()
	for _, c := range goldenCases {
		for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
			msg := encode(t, wire.Config{Stream: "EVENTS", Mode: mode}, c.rec)
			want := msg.Size() - len(msg.Subject) - len(msg.Data)
			if got := wire.HeaderSize(msg.Header); got != want {
				t.Errorf("%v/%s: HeaderSize is %d, nats.go says %d", mode, c.name, got, want)
			}
		}
	}
	if got := wire.HeaderSize(nil); got != 0 {
		t.Errorf("HeaderSize(nil) is %d, want 0", got)
	}
}

// TestIntegerWithZeroFraction is about rows that were inserted without the functions: jsonb
// keeps 1.0 as it was written, and the schema allows it.
func TestIntegerWithZeroFraction(t *testing.T) {
	t.Parallel()
	enc, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := enc.Encode(&outbox.Record{ID: "1", Source: "/s", Type: "t", Extensions: []byte(`{"n": 12.00}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := msg.Header["ce-n"]; len(got) != 1 || got[0] != "12" {
		t.Errorf("ce-n is %v, want 12", got)
	}
}
