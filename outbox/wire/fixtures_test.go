package wire_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// order returns an event as most services write them.
func order() *outbox.Record {
	return &outbox.Record{
		ID:              "018f2b5e-7c1a-7a55-9b0e-5a3c6f2d1e90",
		Source:          "/orders/eu",
		Type:            "shop.order.placed",
		Subject:         "order-1042",
		Time:            time.Date(2026, 3, 9, 11, 4, 5, 120_000_000, time.UTC),
		DataContentType: "application/json",
		PartitionKey:    "customer-7",
		Data:            []byte(`{"order":1042,  "total":"19.90"}`),
	}
}

// with returns order() after a change.
func with(change func(*outbox.Record)) *outbox.Record {
	rec := order()
	change(rec)
	return rec
}

func newEncoder(t testing.TB, cfg wire.Config) *wire.Encoder {
	t.Helper()
	e, err := wire.NewEncoder(cfg)
	if err != nil {
		t.Fatalf("NewEncoder(%+v): %v", cfg, err)
	}
	return e
}

func encode(t testing.TB, cfg wire.Config, rec *outbox.Record) *nats.Msg {
	t.Helper()
	msg, err := newEncoder(t, cfg).Encode(rec)
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	return msg
}

func decode(t testing.TB, header nats.Header, data []byte) event.Event {
	t.Helper()
	ev, err := wire.Decode(header, data)
	if err != nil {
		t.Fatalf("Decode(%v, %q): %v", header, data, err)
	}
	return ev
}

// wantInvalid checks that err is an InvalidError about field.
func wantInvalid(t testing.TB, err error, field string) {
	t.Helper()
	var invalid *wire.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error is %v (%T), want an *InvalidError about %q", err, err, field)
	}
	if invalid.Field != field || invalid.Reason == "" {
		t.Errorf("error is about %q (%s), want %q", invalid.Field, invalid.Reason, field)
	}
}

// failer is what helpers need of *testing.T, *testing.B and *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stored is what the outbox would store for a decoded event.
func stored(t failer, ev event.Event) *outbox.Record {
	t.Helper()
	rec := &outbox.Record{
		ID:              ev.ID(),
		Source:          ev.Source(),
		Type:            ev.Type(),
		Subject:         ev.Subject(),
		Time:            ev.Time(),
		DataContentType: ev.DataContentType(),
		DataSchema:      ev.DataSchema(),
		Data:            ev.Data(),
	}
	rest := map[string]any{}
	for name, value := range ev.Extensions() {
		if name == "partitionkey" {
			text, ok := value.(string)
			if !ok {
				t.Fatalf("partitionkey is a %T", value)
			}
			rec.PartitionKey = text
			continue
		}
		rest[name] = value
	}
	if len(rest) > 0 {
		text, err := json.Marshal(rest)
		if err != nil {
			t.Fatalf("marshal extensions: %v", err)
		}
		rec.Extensions = text
	}
	return rec
}

// diffRecords compares times by instant, and extensions by what they mean.
func diffRecords(a, b *outbox.Record) string {
	return cmp.Diff(a, b,
		cmp.Comparer(func(x, y time.Time) bool { return x.Equal(y) }),
		cmp.FilterPath(
			func(p cmp.Path) bool { return p.Last().String() == ".Extensions" },
			cmp.Comparer(func(x, y []byte) bool { return cmp.Equal(meaning(x), meaning(y)) }),
		),
	)
}

func meaning(extensions []byte) map[string]any {
	out := map[string]any{}
	if len(extensions) > 0 {
		if err := json.Unmarshal(extensions, &out); err != nil {
			return map[string]any{"unreadable": string(extensions)}
		}
	}
	return out
}
