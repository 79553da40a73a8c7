package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestEveryStatementPrepares: a statement that the schema does not know is found here.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	files, err := filepath.Glob("*.sql")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %v, %v", files, err)
	}
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		statement := strings.ReplaceAll(string(text), "{{.Schema}}", "outbox")
		if _, err := conn.Conn().Prepare(t.Context(), name, statement); err != nil {
			t.Errorf("prepare %s: %v", name, err)
		}
	}
}

// flights counts how often a connection sends after it has received.
type flights struct {
	mu        sync.Mutex
	count     int
	receiving bool
}

func (f *flights) take() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.count
	f.count = 0
	return n
}

type countedConn struct {
	net.Conn
	flights *flights
}

func (c countedConn) Write(b []byte) (int, error) {
	c.flights.mu.Lock()
	if c.flights.receiving {
		c.flights.count++
	}
	c.flights.receiving = false
	c.flights.mu.Unlock()
	return c.Conn.Write(b)
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.flights.mu.Lock()
	c.flights.receiving = c.flights.receiving || n > 0
	c.flights.mu.Unlock()
	return n, err
}

// TestOneRoundTrip counts what goes over the wire once the statement is prepared.
func TestOneRoundTrip(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	var counter flights
	var dialer net.Dialer
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		return countedConn{conn, &counter}, err
	}
	handle := stdlib.OpenDB(*config)
	defer closeHandle(t, handle)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	hold := outbox.Hold{Operation: uuid.New(), Generation: 1}
	decide(t, db, "hold_register", hold)
	events := make([]event.Event, 50)
	for i := range events {
		events[i] = newEvent(fmt.Sprint(i))
	}
	check := func(what string, n int, err error) {
		t.Helper()
		if err != nil || n != 1 {
			t.Errorf("%s took %d round trips, error %v", what, n, err)
		}
	}
	publish := func(tx pgx.Tx, sqlTx *sql.Tx, test bool) {
		for _, n := range []int{1, 50} {
			counter.take()
			_, err := outbox.PublishTx(t.Context(), tx, events[:n]...)
			if got := counter.take(); test {
				check(fmt.Sprintf("%d events", n), got, err)
			}
			_, err = outbox.PublishTxHeld(t.Context(), tx, hold, events[:n]...)
			if got := counter.take(); test {
				check(fmt.Sprintf("%d held events", n), got, err)
			}
			_, err = outbox.PublishSQLTx(t.Context(), sqlTx, events[:n]...)
			if got := counter.take(); test {
				check(fmt.Sprintf("%d events through database/sql", n), got, err)
			}
		}
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, tx.Rollback)
	sqlTx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, func(context.Context) error { return sqlTx.Rollback() })
	publish(tx, sqlTx, false)
	publish(tx, sqlTx, true)
	if _, err := outbox.PublishTx(t.Context(), tx); err != nil || counter.take() != 0 {
		t.Errorf("no events took a round trip, error %v", err)
	}
}
