package relay_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// noise makes n bytes that do not compress.
func noise(n int) []byte {
	rng := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	_, _ = rng.Read(data) // never fails
	return data
}

// TestLargeEventsAreBoundedInMemory drains 200 events of 900 kB with 8 MiB for batches.
func TestLargeEventsAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const size, n, batches = 900_000, 200, 8 << 20
	s.exec(`INSERT INTO outbox.event_outbox (event_id, source, type, partition_key, data)
		SELECT n::text, '/test', 'test.happened', CASE WHEN n % 2 = 0 THEN 'key-' || n % 3 END, $1
		  FROM generate_series(1, $2) AS n`, noise(size), n)
	c := s.startChild(func(c *relayConfig) {
		c.BatchBytes = batches
		c.StopTimeout = 20 * time.Second
		c.AckTimeout = 20 * time.Second
	})
	var peak int64
	start := time.Now()
	s.eventually("the large events are settled", func() bool {
		peak = max(peak, c.memory())
		return s.settled() == n
	})
	t.Logf("peak memory %d MiB for %d MiB of events, drained in %s", peak>>20, n*size>>20, time.Since(start))
	// The batches, one more event for each lane, as much again until the garbage is
	// collected, and the program itself, which takes more with the race detector.
	factor := 2
	if !s.prepares() {
		factor = 4 // as text, and decoded
	}
	if limit := int64(factor*(batches+16*size) + 40<<20); peak > limit {
		t.Errorf("the relay took %d bytes, want %d at most", peak, limit)
	}
	if got := s.count(); got != n {
		t.Errorf("%d messages, want %d", got, n)
	}
	// Batches of 8 MiB / 16 lanes: no lane may settle more than one event at a time.
	if n := query[int](s, "SELECT max(events) FROM outbox.outbox_batch"); n > 2 {
		t.Errorf("a batch had %d events of %d bytes", n, size)
	}
}

// TestLargestEventArrivesBitForBit sends 1,000,000 bytes, the limit of the schema.
func TestLargestEventArrivesBitForBit(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.start()
	data := noise(1_000_000)
	list := events("k", 1)
	if err := list[0].SetData("application/octet-stream", data); err != nil {
		t.Fatal(err)
	}
	s.stageTogether(list...)
	s.awaitStream(1)
	if got := sha256.Sum256(s.inStream()[0].Data()); got != sha256.Sum256(data) {
		t.Error("the data changed")
	}
}

// TestEveryKindOfEventArrivesAsItWasStaged covers the attributes and payloads at their edges.
func TestEveryKindOfEventArrivesAsItWasStaged(t *testing.T) {
	t.Parallel()
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			s.start(func(c *relayConfig) { c.Mode = mode })
			staged := kinds(t)
			want := map[string]seen{}
			for i, id := range s.stageTogether(staged...) {
				staged[i].SetID(id)
				want[id] = look(&staged[i])
			}
			s.awaitStream(len(staged))
			got := map[string]seen{}
			for _, m := range s.inStream() {
				got[m.ID()] = look(&m.Event)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-staged +stream):\n%s", diff)
			}
		})
	}
}

// seen is an event as far as every format carries it: binary mode makes every extension a text.
type seen struct {
	Source, Type, Subject, ContentType, Schema string
	Time                                       time.Time
	Extensions                                 map[string]string
	Data                                       []byte
}

func look(e *event.Event) seen {
	s := seen{
		Source: e.Source(), Type: e.Type(), Subject: e.Subject(), ContentType: e.DataContentType(), Schema: e.DataSchema(),
		Time: e.Time().UTC(), Extensions: map[string]string{}, Data: bytes.Clone(e.Data()),
	}
	if len(s.Data) == 0 {
		s.Data = nil // a message has no way to tell no data from empty data
	}
	for name, value := range e.Extensions() {
		s.Extensions[name] = fmt.Sprint(value)
	}
	return s
}

func kinds(t *testing.T) []event.Event {
	t.Helper()
	at := time.Date(2026, 11, 29, 10, 0, 0, 123456000, time.UTC)
	make1 := func(change func(*event.Event)) event.Event {
		e := event.New()
		e.SetSource("/test")
		e.SetType("test.happened")
		e.SetTime(at)
		change(&e)
		return e
	}
	data := func(contentType string, b []byte) func(*event.Event) {
		return func(e *event.Event) {
			if err := e.SetData(contentType, b); err != nil {
				t.Fatalf("set data: %v", err)
			}
		}
	}
	return []event.Event{
		make1(func(*event.Event) {}),
		make1(data("application/octet-stream", []byte{})),
		make1(data("application/octet-stream", []byte{0, 1, 0, 0xff, 0xfe, '\r', '\n', 0})),
		make1(data("application/json", []byte(`{"a":1.0,  "b":"\u0000\ud800", "a":1e400}`))),
		make1(data("application/json", []byte(`null`))),
		make1(data("application/json", []byte(`[]`))),
		make1(data("text/plain; charset=utf-8", []byte("Größe \u2028 \x00"))),
		make1(func(e *event.Event) {
			e.SetSubject("order/7 Größe %41 \"quoted\"")
			e.SetDataSchema("https://example.com/schema?v=1#a")
			e.SetExtension("partitionkey", "Schlüssel 7")
			e.SetExtension("text", "Größe % \" "+strings.Repeat("x", 300))
			e.SetExtension("yes", true)
			e.SetExtension("no", false)
			e.SetExtension("largest", int32(2147483647))
			e.SetExtension("smallest", int32(-2147483648))
			e.SetExtension("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		}),
	}
}
