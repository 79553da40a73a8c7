package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/check"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestLargestEvent: an event that fills every limit of the schema can be stored, and no message is
// larger than the engine says; nor is the engine's figure far from the truth.
func TestLargestEvent(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	limit := canonical.DefaultParams().MaxEventBytes
	many := func(n int) string { return strings.Repeat(`"`, n) }
	r := outbox.Record{
		ID: many(255), Source: many(1024), Type: many(255), Subject: many(1024), DataContentType: "a/b;" + many(251), DataSchema: "a:" + many(1022),
		PartitionKey: many(255), Time: time.Date(2026, 11, 29, 10, 0, 0, 123456000, time.UTC),
		Extensions: fmt.Appendf(nil, `{"x": "%s"}`, strings.Repeat("%", 8192-len(`{"x": ""}`))), Data: make([]byte, limit),
	}
	const insert = `INSERT INTO outbox.event_outbox (event_id, source, type, subject, datacontenttype, dataschema, partition_key, "time", extensions, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	_, err := db.Pool.Exec(t.Context(), insert, r.ID, r.Source, r.Type, r.Subject, r.DataContentType, r.DataSchema, r.PartitionKey, r.Time, r.Extensions, r.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []wire.Mode{wire.Binary, wire.Structured} {
		encoder, err := wire.NewEncoder(wire.Config{Stream: "ORDERS", Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		m, err := encoder.Encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		most, err := check.Largest(relay.Config{Stream: "ORDERS", Mode: mode}, limit)
		if size := int64(wire.HeaderSize(m.Header) + len(m.Data)); err != nil || size > most || most-size > 100 {
			t.Errorf("in %s mode a message has %d bytes, and the engine says %d (%v)", mode, size, most, err)
		}
		if mode == wire.Binary && most > 1<<20 {
			t.Errorf("by default a message may have %d bytes, which a server does not take by default", most)
		}
	}
}
