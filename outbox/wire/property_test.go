package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// What was encoded comes back, through the bytes that travel and whatever an
// intermediary does to the case of header names.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			e := newEncoder(t, wire.Config{
				Subject: "{prefix}.{source}.{subject}.{partitionkey}.{type}", Stream: "EVENTS", Mode: mode,
			})
			rapid.Check(t, func(t *rapid.T) {
				rec := drawRecord(t)
				msg, err := e.Encode(rec)
				if err != nil {
					t.Fatalf("encode: %v", err)
				}
				header := travel(t, msg.Header, rapid.Bool().Draw(t, "upper case"))
				ev, err := wire.Decode(header, bytes.Clone(msg.Data))
				if err != nil {
					t.Fatalf("decode: %v", err)
				}
				want := *rec
				if mode == wire.Binary {
					want.Extensions = asStrings(t, want.Extensions)
					if len(want.Data) == 0 {
						want.Data = nil
					}
				}
				if diff := diffRecords(&want, stored(t, ev)); diff != "" {
					t.Fatalf("event differs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func drawRecord(t *rapid.T) *outbox.Record {
	text := rapid.OneOf(
		rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })),
		rapid.StringMatching(`[a-z0-9/:%"\\ ]*`),
	)
	required := text.Filter(func(s string) bool { return s != "" })
	rec := &outbox.Record{
		ID:              required.Draw(t, "id"),
		Source:          required.Draw(t, "source"),
		Type:            rapid.StringMatching(`[a-zA-Z0-9_é-]{1,8}(\.[a-z0-9%"]{1,8}){0,3}`).Draw(t, "type"),
		Subject:         text.Draw(t, "subject"),
		DataContentType: drawContentType().Draw(t, "datacontenttype"),
		DataSchema:      text.Draw(t, "dataschema"),
		PartitionKey:    text.Draw(t, "partitionkey"),
		Extensions:      drawExtensions(t, text),
		Data:            drawData(t),
	}
	if rapid.Bool().Draw(t, "has time") {
		first := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC).UnixMicro()
		last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMicro()
		rec.Time = time.UnixMicro(rapid.Int64Range(first, last).Draw(t, "time")).UTC()
	}
	return rec
}

func drawContentType() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		"", "application/json", "text/json; charset=utf-8", "application/vnd.shop+json", "APPLICATION/JSON",
		"text/plain", "application/xml", "json", "+json", "é",
	})
}

func drawExtensions(t *rapid.T, text *rapid.Generator[string]) []byte {
	value := rapid.OneOf(text.AsAny(), rapid.Bool().AsAny(), rapid.Int32().AsAny())
	name := rapid.StringMatching(`x[a-z0-9]{0,19}`)
	drawn := rapid.MapOfN(name, value, 0, 6).Draw(t, "extensions")
	if len(drawn) == 0 {
		return nil
	}
	object, err := json.Marshal(drawn)
	if err != nil {
		t.Fatalf("marshal extensions: %v", err)
	}
	return object
}

func drawData(t *rapid.T) []byte {
	document := rapid.Custom(func(t *rapid.T) []byte {
		members := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Float64Range(-1e9, 1e9))).Draw(t, "document")
		text, err := json.MarshalIndent(members, rapid.SampledFrom([]string{"", " "}).Draw(t, "prefix"), "  ")
		if err != nil {
			t.Fatalf("marshal document: %v", err)
		}
		return text
	})
	return rapid.OneOf(
		document,
		rapid.SliceOf(rapid.Byte()),
		rapid.SampledFrom([][]byte{nil, {}, []byte("null"), []byte(" {}"), []byte(`"\ud800"`), []byte("\xef\xbb\xbf{}")}),
	).Draw(t, "data")
}

// travel writes headers as nats.go writes them and lets it read them again.
func travel(t failer, header nats.Header, upperCase bool) nats.Header {
	var block strings.Builder
	block.WriteString("NATS/1.0\r\n")
	for name, values := range header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
				t.Fatalf("header %s has characters that need encoding: %q", name, v)
			}
			if upperCase {
				name = strings.ToUpper(name)
			}
			fmt.Fprintf(&block, "%s: %s\r\n", name, v)
		}
	}
	block.WriteString("\r\n")
	if got := wire.HeaderSize(header); got != block.Len() {
		t.Fatalf("HeaderSize is %d, the block has %d bytes", got, block.Len())
	}
	read, err := nats.DecodeHeadersMsg([]byte(block.String()))
	if err != nil {
		t.Fatalf("read header block: %v", err)
	}
	return read
}

// asStrings is what binary mode makes of extensions: their canonical strings.
func asStrings(t failer, object []byte) []byte {
	if len(object) == 0 {
		return nil
	}
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		t.Fatalf("read extensions: %v", err)
	}
	for name, value := range values {
		values[name] = fmt.Sprint(value)
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatalf("write extensions: %v", err)
	}
	return text
}
