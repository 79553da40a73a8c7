package outbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// ids returns what is in the outbox, in the order of the positions.
func ids(t testing.TB, db outboxtest.Querier) []string {
	t.Helper()
	got := []string{}
	for _, e := range outboxtest.Staged(t, db) {
		got = append(got, e.ID)
	}
	return got
}

func wantIDs(t testing.TB, db outboxtest.Querier, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), ids(t, db)); diff != "" {
		t.Errorf("events in the outbox (-want +got):\n%s", diff)
	}
}

func TestEventsFollowTheirTransaction(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		if _, err := outbox.PublishTx(t.Context(), tx, newEvent("committed")); err != nil {
			return err
		}
		wantIDs(t, db.Pool) // nobody else sees it yet
		// A savepoint that is rolled back takes its events along, and one that is not keeps them.
		undone := errors.New("undone")
		err := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			if _, err := outbox.PublishTx(t.Context(), tx, newEvent("savepoint rolled back")); err != nil {
				return err
			}
			return undone
		})
		if !errors.Is(err, undone) {
			return err
		}
		return pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			_, err := outbox.PublishTx(t.Context(), tx, newEvent("savepoint kept"))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	rolledBack := errors.New("rolled back")
	err = pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		if _, err := outbox.PublishTx(t.Context(), tx, newEvent("rolled back")); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	wantIDs(t, db.Pool, "committed", "savepoint kept")
	// A savepoint has a transaction id of its own; the row must not carry it.
	var transactions int
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(DISTINCT tx) FROM outbox.event_outbox").Scan(&transactions); err != nil {
		t.Fatal(err)
	}
	if transactions != 1 {
		t.Errorf("one transaction left rows of %d", transactions)
	}
}

func TestPositionsFollowTheArguments(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(t, handle)
	var events []event.Event
	var want []string
	for i := range 1000 {
		e := newEvent(fmt.Sprintf("%d", (i*7919)%1000)) // in no order that an index could have
		e.SetExtension("partitionkey", fmt.Sprintf("key-%d", i%13))
		if i%3 == 0 {
			e.SetSubject(fmt.Sprintf("subject-%d", i)) // present for some only
		}
		events, want = append(events, e), append(want, e.ID())
	}
	var got, gotSQL []string
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) (err error) {
		got, err = outbox.PublishTx(t.Context(), tx, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inSQLTx(t, handle, func(tx *sql.Tx) (err error) {
		gotSQL, err = outbox.PublishSQLTx(t.Context(), tx, events...)
		return err
	})
	if diff := cmp.Diff([][]string{want, want}, [][]string{got, gotSQL}); diff != "" {
		t.Errorf("returned ids (-want +got):\n%s", diff)
	}
	wantIDs(t, db.Pool, append(want, want...)...)
	for i, e := range outboxtest.Staged(t, db.Pool) {
		if subject := events[i%1000].Subject(); e.Subject != subject {
			t.Fatalf("event %d has subject %q, want %q", i, e.Subject, subject)
		}
	}
}

func inSQLTx(t testing.TB, handle *sql.DB, f func(*sql.Tx) error) {
	t.Helper()
	tx, err := handle.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rollback(t, func(context.Context) error { return tx.Rollback() })
	if err := f(tx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyAttributesAreFilled(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	p, err := outbox.New(outbox.Config{Source: "/orders"})
	if err != nil {
		t.Fatal(err)
	}
	bare, own := event.New(), event.New()
	bare.SetType("order.placed")
	own.SetType("order.placed")
	own.SetSource("/other")
	before := bare.Clone()
	var got []string
	err = pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) (err error) {
		got, err = p.PublishTx(t.Context(), tx, bare, own)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, bare); diff != "" {
		t.Errorf("the argument was changed (-before +after):\n%s", diff)
	}
	wantIDs(t, db.Pool, got...)
	for i, e := range outboxtest.Staged(t, db.Pool) {
		if id, err := uuid.Parse(e.ID); err != nil || id.Version() != 7 {
			t.Errorf("id %q is no UUIDv7", e.ID)
		}
		if want := []string{"/orders", "/other"}[i]; e.Source != want {
			t.Errorf("source is %q, want %q", e.Source, want)
		}
		if e.Time.IsZero() || e.Time.Location() != time.UTC {
			t.Errorf("time is %v, want that of the database", e.Time)
		}
	}
}

func TestPayloadIsKept(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	raw := []byte(" {\"b\":1, \"a\":\"\\u0000\"}\x00\xff")
	asBytes, asJSON, parsed := newEvent("bytes"), newEvent("json"), newEvent("parsed")
	if err := asBytes.SetData("application/octet-stream", raw); err != nil { // sets DataBase64
		t.Fatal(err)
	}
	if err := asJSON.SetData(event.ApplicationJSON, map[string]string{"a": "<&>"}); err != nil { // encodes, once
		t.Fatal(err)
	}
	if err := parsed.UnmarshalJSON([]byte(`{"specversion":"1.0","id":"parsed","source":"/test","type":"test.happened","data_base64":"AAEC"}`)); err != nil {
		t.Fatal(err)
	}
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		_, err := outbox.PublishTx(t.Context(), tx, asBytes, asJSON, parsed)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	for _, e := range outboxtest.Staged(t, db.Pool) {
		got = append(got, e.Data)
	}
	if diff := cmp.Diff([][]byte{raw, asJSON.Data(), {0, 1, 2}}, got); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

func TestSameIDTwice(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	for range 2 {
		err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			_, err := outbox.PublishTx(t.Context(), tx, newEvent("again"))
			return err
		})
		if err != nil {
			t.Fatalf("a repeated id must not abort the transaction: %v", err)
		}
	}
	wantIDs(t, db.Pool, "again", "again")
}

// TestSessionSettings: what a role, a database or a pooler may have set must not change a row.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	e := newEvent("settings")
	e.SetTime(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.FixedZone("", 3600)))
	e.DataEncoded = []byte{0, '\\', '\'', 255}
	e.SetExtension("note", `\'"`)
	for _, setting := range []string{
		"datestyle = 'SQL, DMY'", "timezone = 'America/St_Johns'", "bytea_output = 'escape'", "search_path = ''",
		"intervalstyle = 'sql_standard'", "extra_float_digits = 0", "default_transaction_isolation = 'serializable'",
		"enable_seqscan = off", "standard_conforming_strings = off",
	} {
		conn, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := conn.Exec(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
		err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if _, err := outbox.PublishTx(t.Context(), tx, e); err != nil {
				return err
			}
			_, err := outbox.PublishSQLTx(t.Context(), textOnly{tx}, e, newEvent("other"))
			return err
		})
		if err != nil {
			t.Errorf("with %s: %v", setting, err)
		}
	}
	for _, got := range outboxtest.Staged(t, db.Pool) {
		if got.ID == "other" {
			continue
		}
		if !got.Time.Equal(e.Time()) || !bytes.Equal(got.Data, e.Data()) || !strings.Contains(string(got.Extensions), `"\\'\""`) {
			t.Errorf("stored %v %x %s", got.Time, got.Data, got.Extensions)
		}
	}
}

// textOnly is a driver of database/sql that can send nothing but text.
type textOnly struct{ tx pgx.Tx }

func (d textOnly) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	for _, arg := range args {
		if _, isText := arg.(string); !isText && arg != nil {
			return nil, fmt.Errorf("parameter is a %T", arg)
		}
	}
	_, err := d.tx.Exec(ctx, query, args...)
	return nil, err
}

func TestOtherSchemaAndLimit(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewEmptyDatabase(t)
	err := db.Pool.AcquireFunc(t.Context(), installer(t, canonical.Params{Schema: "events", MaxEventBytes: 2000}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := outbox.New(outbox.Config{Schema: "events", MaxEventBytes: 3000})
	if err != nil {
		t.Fatal(err)
	}
	fits, over, refused := newEvent("fits"), newEvent("over"), newEvent("refused")
	fits.DataEncoded, over.DataEncoded, refused.DataEncoded = make([]byte, 2000), make([]byte, 2001), make([]byte, 3001)
	publish := func(events ...event.Event) (err error) {
		return pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
			_, err := p.PublishTx(t.Context(), tx, events...)
			return err
		})
	}
	if err := publish(fits); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		events []event.Event
		index  int
	}{
		{[]event.Event{refused}, 0},
		{[]event.Event{over}, 0},        // named by the database
		{[]event.Event{fits, over}, -1}, // which does not say which
	} {
		err := publish(c.events...)
		var invalid *outbox.InvalidEventError
		if !errors.As(err, &invalid) || invalid.Field != "data" || invalid.Index != c.index || outbox.Hint(err) == "" {
			t.Errorf("error is %v (%+v, hint %q), want one about data of event %d", err, invalid, outbox.Hint(err), c.index)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	db := outboxtest.NewDatabase(t)
	handle := stdlib.OpenDBFromPool(db.Pool)
	defer closeHandle(t, handle)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				e := newEvent(fmt.Sprintf("%d-%d", i, j))
				err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
					_, err := outbox.PublishTx(t.Context(), tx, e, e)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				tx, err := handle.BeginTx(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := outbox.PublishSQLTx(t.Context(), tx, e); err != nil {
					t.Error(err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(ids(t, db.Pool)); n != 8*5*3 {
		t.Errorf("%d events, want %d", n, 8*5*3)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, config := range []outbox.Config{
		{Schema: "Outbox"}, {Schema: "a; drop"}, {Schema: "pg_x"}, {Schema: strings.Repeat("x", 51)},
		{Source: "/a b"}, {Source: strings.Repeat("x", 1025)}, {MaxEventBytes: 10}, {MaxEventBytes: -1}, {MaxEventBytes: 64_000_001},
	} {
		if p, err := outbox.New(config); err == nil || p != nil {
			t.Errorf("New(%+v) accepted it", config)
		}
	}
}

// installer installs the outbox alone.
func installer(t testing.TB, params canonical.Params) func(*pgxConn) error {
	return func(conn *pgxConn) error { return gen.Install(t.Context(), conn.Conn(), params, canonical.Outbox) }
}
