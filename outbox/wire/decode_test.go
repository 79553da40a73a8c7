package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// headers returns the headers of a small event, changed by pairs of name and
// value.
func headers(pairs ...string) nats.Header {
	h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"/s"}, "ce-type": {"t"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, want string }{
		{"plain", "plain"},
		{"Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"},
		{"Euro%20%e2%82%ac%20%f0%9f%98%80", "Euro € 😀"},
		{"Euro € 😀", "Euro € 😀"},
		{"a b", "a b"},
		{"a%2520b", "a%20b"},
		{"%61%62", "ab"},
		{" \tpadded ", "padded"},
		{`"a b"`, "a b"},
		{`"a \"b\" \\"`, `a "b" \`},
		{`"a%20b"`, "a b"},
		{"%22q%22", `"q"`},
		{`say "hi"`, `say "hi"`},
		{`"a" and "b"`, `"a" and "b"`},
		{`"open`, `"open`},
		{`"open\"`, `"open\"`},
		{"%0D%0A", "\r\n"},
	} {
		if got := decode(t, headers("ce-subject", c.header), nil).Subject(); got != c.want {
			t.Errorf("subject %q is read as %q, want %q", c.header, got, c.want)
		}
	}
}

func TestDecodeRefusesHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, field string
		header      nats.Header
	}{
		{"overlong UTF-8", "subject", headers("ce-subject", "%C0%A0")},
		{"surrogate in UTF-8", "subject", headers("ce-subject", "%ED%A0%80")},
		{"beyond Unicode", "subject", headers("ce-subject", "%F4%90%80%80")},
		{"cut off UTF-8", "subject", headers("ce-subject", "%E2%82")},
		{"raw invalid UTF-8", "subject", headers("ce-subject", "\xc0\xa0")},
		{"half an escape", "subject", headers("ce-subject", "100%2")},
		{"bare percent", "subject", headers("ce-subject", "100%")},
		{"no hexadecimal digits", "subject", headers("ce-subject", "100% sure")},
		{"NUL", "subject", headers("ce-subject", "a%00")},
		{"two values", "id", nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"1", "2"}, "ce-source": {"/s"}, "ce-type": {"t"}}},
		{"twice by case", "id", headers("Ce-Id", "1")},
		{"extension twice by case", "foo", headers("ce-foo", "1", "CE-FOO", "1")},
		{"no specversion", "specversion", nats.Header{"ce-id": {"1"}, "ce-source": {"/s"}, "ce-type": {"t"}}},
		{"specversion of the past", "specversion", headers("ce-specversion", "0.3")},
		{"no id", "id", headers("ce-id", "")},
		{"no source", "source", headers("ce-source", " ")},
		{"no type", "type", headers("ce-type", "")},
		{"bad time", "time", headers("ce-time", "yesterday")},
		{"extension called data", "data", headers("ce-data", "x")},
		{"bad extension name", "foo-bar", headers("ce-foo-bar", "x")},
		{"no attribute name", "", headers("ce-", "x")},
		{"long extension name", strings.Repeat("-", 48) + "...", headers("ce-"+strings.Repeat("-", 90), "x")},
		{"batch", "content-type", nats.Header{"Content-Type": {"application/cloudevents-batch+json"}}},
		{"other format", "content-type", nats.Header{"Content-Type": {"application/cloudevents+avro"}}},
		{"two formats", "content-type", nats.Header{"Content-Type": {"text/plain", "application/cloudevents+json"}}},
		{"two content types", "content-type", headers("Content-Type", "text/plain", "content-type", "text/html")},
		{"content type not UTF-8", "content-type", headers("Content-Type", "\xff")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.Decode(c.header, []byte(`{}`))
			wantInvalid(t, err, c.field)
		})
	}
}

func TestDecodeNotCloudEvent(t *testing.T) {
	t.Parallel()
	for _, header := range []nats.Header{
		nil,
		{},
		{"Nats-Msg-Id": {"x"}},
		{"Content-Type": {"application/json"}},
		{"Content-Type": {"application/json", "text/plain"}},
		{"Content-Type": {"application/cloudeventsx"}},
		{"Content-Type": {}},
		{"cex": {"x"}},
	} {
		_, err := wire.Decode(header, []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t"}`))
		if !errors.Is(err, wire.ErrNotCloudEvent) {
			t.Errorf("%v: error is %v, want ErrNotCloudEvent", header, err)
		}
	}
}

func TestDecodeAnyCase(t *testing.T) {
	t.Parallel()
	want := encode(t, wire.Config{}, order())
	for _, change := range []func(string) string{strings.ToUpper, func(s string) string {
		return strings.ToUpper(s[:1]) + s[1:]
	}} {
		header := nats.Header{}
		for name, values := range want.Header {
			header[change(name)] = values
		}
		got := stored(t, decode(t, header, want.Data))
		if diff := diffRecords(order(), got); diff != "" {
			t.Errorf("event differs (-want +got):\n%s", diff)
		}
	}
}

func TestDecodeContentType(t *testing.T) {
	t.Parallel()
	body := []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"t"}`)
	for _, value := range []string{
		"application/cloudevents", "application/cloudevents+json", "APPLICATION/CloudEvents+JSON; charset=utf-8",
	} {
		for _, name := range []string{"Content-Type", "content-type", "CONTENT-TYPE"} {
			if got := decode(t, nats.Header{name: {value}}, body).ID(); got != "1" {
				t.Errorf("%s: %s: id is %q, want 1", name, value, got)
			}
		}
	}
	// In binary mode it is the fallback for datacontenttype.
	if got := decode(t, headers("content-type", "text/plain"), nil).DataContentType(); got != "text/plain" {
		t.Errorf("datacontenttype is %q, want the content type", got)
	}
	h := headers("content-type", "text/plain", "ce-datacontenttype", "text/html")
	if got := decode(t, h, nil).DataContentType(); got != "text/html" {
		t.Errorf("datacontenttype is %q, want that of ce-datacontenttype", got)
	}
}

func TestDecodeEmptyBodyIsNoData(t *testing.T) {
	t.Parallel()
	ev := decode(t, headers(), []byte{})
	if ev.Data() != nil || ev.DataBase64 {
		t.Errorf("data is %v (base64 %v), want nil", ev.Data(), ev.DataBase64)
	}
}

// Source and id are an event's identity: what net/url thinks of a source must
// not change it.
func TestDecodeKeepsURLs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"/orders/eu", "https://example.com/a?b=c#d", "HTTP://Example.com/x", "urn:a:b", "/a b", "Größe", "%zz",
		"a:b", ":", "HTTP:", "/a%2fb", "//host", "?q", "#", "http://[::1", "x?", "http://h/?",
	} {
		rec := with(func(r *outbox.Record) { r.Source, r.DataSchema = text, text })
		for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
			msg := encode(t, wire.Config{Mode: mode}, rec)
			ev := decode(t, msg.Header, msg.Data)
			if ev.Source() != text || ev.DataSchema() != text {
				t.Errorf("%v: source %q, dataschema %q; want %q", mode, ev.Source(), ev.DataSchema(), text)
			}
		}
	}
	schema := decode(t, headers("ce-dataschema", "HTTP://Example.com/x"), nil)
	if err := schema.Validate(); err != nil {
		t.Errorf("an absolute dataschema is no longer one: %v", err)
	}
}

// Writing a decoded event as JSON with the SDK, for example into a dead letter,
// must not change its data.
func TestDecodedEventKeepsDataInJSON(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		for _, c := range goldenCases {
			msg := encode(t, wire.Config{Mode: mode}, c.rec)
			ev := decode(t, msg.Header, msg.Data)
			text, err := json.Marshal(ev)
			if err != nil {
				t.Errorf("%v/%s: marshal: %v", mode, c.name, err)
				continue
			}
			again, err := wire.DecodeJSON(text)
			if err != nil {
				t.Errorf("%v/%s: decode %s: %v", mode, c.name, text, err)
				continue
			}
			if diff := cmp.Diff(ev.Data(), again.Data()); diff != "" {
				t.Errorf("%v/%s: data differs (-want +got):\n%s", mode, c.name, diff)
			}
		}
	}
}

func TestDecodeExtensionTypes(t *testing.T) {
	t.Parallel()
	rec := with(func(r *outbox.Record) {
		r.Extensions = []byte(`{"s":"x","e":"","b":true,"f":false,"i":-2147483648,"z":-0}`)
	})
	for mode, want := range map[wire.Mode]map[string]any{
		wire.Binary: {"partitionkey": "customer-7", "s": "x", "e": "", "b": "true", "f": "false",
			"i": "-2147483648", "z": "0"},
		wire.Structured: {"partitionkey": "customer-7", "s": "x", "e": "", "b": true, "f": false,
			"i": int32(-2147483648), "z": int32(0)},
	} {
		msg := encode(t, wire.Config{Mode: mode}, rec)
		if diff := cmp.Diff(want, decode(t, msg.Header, msg.Data).Extensions()); diff != "" {
			t.Errorf("%v: extensions differ (-want +got):\n%s", mode, diff)
		}
	}
}
