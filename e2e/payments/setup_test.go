package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/e2e/payments/perdiem"
	"github.com/holdfast-dev/holdfast/e2e/payments/wallet"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/outbox/wire"
)

const (
	streamName = "EVENTS"
	// patience bounds every wait; a machine may be busy.
	patience = 120 * time.Second
)

// makeTables makes the tables of both services.
func makeTables(t testing.TB, db *pgxpool.Pool) {
	t.Helper()
	for _, schema := range []string{wallet.Schema, perdiem.Schema} {
		if _, err := db.Exec(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
	}
}

// tell makes an event of the provider or the agency.
func tell(id, eventType string, payload any) event.Event {
	e := event.New()
	e.SetID(id)
	e.SetSource("/provider")
	e.SetType(eventType)
	if err := e.SetData("application/json", payload); err != nil {
		panic(err)
	}
	return e
}

// site is a database and a broker of a test's own.
type site struct {
	t    *testing.T
	db   *outboxtest.Database
	nats *harness.NATS
	js   jetstream.JetStream
	// service are further flags of the services that are started.
	service []string
}

func newSite(t *testing.T, db *outboxtest.Database) *site {
	t.Helper()
	makeTables(t, db.Pool)
	s := &site{t: t, db: db, nats: outboxtest.NewNATS(t)}
	s.js = outboxtest.NewStream(t, s.nats.URL(), streamName, "events.>")
	return s
}

// publish publishes an event, and again when it is called again.
func (s *site) publish(e event.Event, key string) {
	s.t.Helper()
	if err := s.send(e, key); err != nil {
		s.t.Fatal(err)
	}
}

// send is publish for any goroutine. While the broker is away it tries again.
func (s *site) send(e event.Event, key string) error {
	msg, err := encode(e, key)
	if err != nil {
		return err
	}
	msg.Header.Del(nats.MsgIdHdr)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err = s.js.PublishMsg(s.t.Context(), msg); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// encode makes the message that a relay would publish.
func encode(e event.Event, key string) (*nats.Msg, error) {
	rec := outbox.Record{ID: e.ID(), Source: e.Source(), Type: e.Type(), PartitionKey: key, DataContentType: e.DataContentType(), Data: e.Data()}
	encoder, err := wire.NewEncoder(wire.Config{})
	if err != nil {
		return nil, err
	}
	return encoder.Encode(&rec)
}

// eventually waits until ok holds.
func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	outboxtest.Eventually(s.t, patience, what, ok)
}

func (s *site) exec(sql string, args ...any) {
	s.t.Helper()
	outboxtest.Exec(s.t, s.db.Pool, sql, args...)
}

// query returns one value from the database.
func query[T any](s *site, sql string, args ...any) T {
	s.t.Helper()
	return outboxtest.One[T](s.t, s.db.Pool, sql, args...)
}

// pause turns the switch of the services, and resume turns it back.
func (s *site) pause(reason string) {
	s.t.Helper()
	s.turn(func(c *consumers.Control) (bool, error) { return c.Pause(s.t.Context(), "money", "test", reason) })
}

func (s *site) resume() {
	s.t.Helper()
	s.turn(func(c *consumers.Control) (bool, error) { return c.Resume(s.t.Context(), "money", "test", "over") })
}

func (s *site) turn(how func(*consumers.Control) (bool, error)) {
	s.t.Helper()
	control, err := consumers.NewControl(s.db.Pool, "")
	if err != nil {
		s.t.Fatal(err)
	}
	if changed, err := how(control); err != nil || !changed {
		s.t.Fatalf("turn the switch: %t, %v", changed, err)
	}
}

// settled waits until a consumer has nothing more to get and nothing to answer.
func (s *site) settled(consumer string) {
	s.t.Helper()
	s.eventually("everything is settled", func() bool {
		c, err := s.js.Consumer(s.t.Context(), streamName, consumer)
		return err == nil && c.CachedInfo().NumPending == 0 && c.CachedInfo().NumAckPending == 0
	})
}

// The provider's events of payment n, of the wallet n mod 7.

func paid(n int) event.Event {
	return tell(fmt.Sprint("evt_p", n), wallet.PaymentSucceeded, wallet.Told{ID: fmt.Sprint("pi_", n), Wallet: walletOf(n), Cents: cents(n), Currency: "EUR"})
}

func charged(n int) event.Event {
	return tell(fmt.Sprint("evt_c", n), wallet.ChargeSucceeded, wallet.Told{ID: fmt.Sprint("ch_", n), Payment: fmt.Sprint("pi_", n), Wallet: walletOf(n), Cents: cents(n), Currency: "EUR"})
}

func refunded(n int) event.Event {
	return tell(fmt.Sprint("evt_r", n), wallet.RefundSucceeded, wallet.Told{ID: fmt.Sprint("re_", n), Wallet: walletOf(n), Cents: cents(n), Currency: "EUR"})
}

func walletOf(n int) string { return fmt.Sprint("wallet-", n%7) }
func cents(n int) int64     { return int64(100 + n) }
