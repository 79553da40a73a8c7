package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// BenchmarkPublish stages events of 512 bytes, in transactions that are rolled back. The
// operation is a call of all its events; the other figure is what one event costs.
func BenchmarkPublish(b *testing.B) {
	db := outboxtest.NewDatabase(b)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(b, handle)
	for _, n := range []int{1, 10, 1000} {
		events := benchEvents(n)
		b.Run(fmt.Sprintf("pgx/%d", n), func(b *testing.B) {
			tx, err := db.Pool.Begin(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer rollback(b, tx.Rollback)
			measure(b, n, func() error {
				_, err := outbox.PublishTx(b.Context(), tx, events...)
				return err
			})
		})
		b.Run(fmt.Sprintf("database-sql/%d", n), func(b *testing.B) {
			tx, err := handle.BeginTx(b.Context(), &sql.TxOptions{})
			if err != nil {
				b.Fatal(err)
			}
			defer rollback(b, func(context.Context) error { return tx.Rollback() })
			measure(b, n, func() error {
				_, err := outbox.PublishSQLTx(b.Context(), tx, events...)
				return err
			})
		})
		b.Run(fmt.Sprintf("no-database/%d", n), func(b *testing.B) {
			var tx recorder
			measure(b, n, func() error {
				_, err := outbox.PublishTx(b.Context(), &tx, events...)
				return err
			})
		})
	}
}

func measure(b *testing.B, events int, call func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

func benchEvents(n int) []event.Event {
	events := make([]event.Event, n)
	for i := range events {
		events[i] = newEvent(fmt.Sprintf("event-%d", i))
		events[i].SetSubject("order/1")
		events[i].SetDataContentType(event.ApplicationJSON)
		events[i].SetExtension("partitionkey", fmt.Sprintf("order-%d", i%100))
		events[i].SetExtension("tenant", "a")
		events[i].DataEncoded = make([]byte, 512)
	}
	return events
}
