package wire_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// goldenCases are the events whose messages are kept in testdata, one file for
// each case and mode.
var goldenCases = []struct {
	name string
	rec  *outbox.Record
}{
	{"order", order()},
	{"bare", &outbox.Record{ID: "1", Source: "/s", Type: "t"}},
	{"full", with(func(r *outbox.Record) {
		r.DataSchema = "https://schemas.example.com/order/3#/total"
		r.Extensions = []byte(`{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ` +
			`"retry": true, "weight": -12, "note": "Euro € 😀"}`)
	})},
	{"unicode", with(func(r *outbox.Record) { r.Subject = "Euro € 😀" })},
	{"percent", with(func(r *outbox.Record) { r.Subject = "a%20b" })},
	{"quotes", with(func(r *outbox.Record) { r.Subject = `"q" and \` })},
	{"crlf", with(func(r *outbox.Record) { r.Subject = "a\r\nNats-Rollup: all" })},
	{"time-whole-second", with(func(r *outbox.Record) {
		r.Time = time.Date(2026, 3, 9, 23, 30, 0, 0, time.FixedZone("", 2*60*60))
	})},
	{"time-microseconds", with(func(r *outbox.Record) {
		r.Time = time.Date(1999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	})},
	{"text", with(func(r *outbox.Record) {
		r.DataContentType = "text/plain; charset=utf-8"
		r.Data = []byte("19 € \"net\"")
	})},
	{"bytes", with(func(r *outbox.Record) {
		r.DataContentType = "application/octet-stream"
		r.Data = []byte{0x00, 0xff, '%', '\r', '\n'}
	})},
	{"vendor-json", with(func(r *outbox.Record) { r.DataContentType = "application/vnd.shop+JSON; v=2" })},
	{"json-with-space-around", with(func(r *outbox.Record) { r.Data = []byte("{}\n") })},
	{"no-content-type", with(func(r *outbox.Record) { r.DataContentType = "" })},
	{"empty-data", with(func(r *outbox.Record) { r.Data = []byte{} })},
	{"no-data", with(func(r *outbox.Record) { r.Data = nil })},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		for _, c := range goldenCases {
			t.Run(mode.String()+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				msg := encode(t, wire.Config{Stream: "EVENTS", Mode: mode}, c.rec)
				path := filepath.Join("testdata", mode.String(), c.name+".golden")
				compareGolden(t, path, printMessage(msg))

				want := *c.rec
				if mode == wire.Binary {
					want.Extensions = asStrings(t, want.Extensions)
					if len(want.Data) == 0 {
						want.Data = nil
					}
				}
				got := stored(t, decode(t, msg.Header, msg.Data))
				if diff := diffRecords(&want, got); diff != "" {
					t.Errorf("decoded event differs (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file (write it with -update): %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("message differs from %s (-want +got):\n%s", path, diff)
	}
}

// printMessage writes a message for people: subject, headers by name, body. A
// body that is not plain text is printed as a quoted string.
func printMessage(msg *nats.Msg) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "subject %s\n", msg.Subject)
	names := make([]string, 0, len(msg.Header))
	for name := range msg.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range msg.Header[name] {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	body := string(msg.Data)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(body) || strings.ContainsFunc(body, unprintable) {
		body = "quoted " + strconv.Quote(body)
	}
	fmt.Fprintf(&out, "\n%s\n", body)
	return out.Bytes()
}
