package outbox_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// pqError has the shape of lib/pq's error: a method for the code, and the other fields by
// their letters.
type pqError struct {
	code   string
	fields map[byte]string
}

func (e pqError) Error() string     { return "pq: something" }
func (e pqError) SQLState() string  { return e.code }
func (e pqError) Get(k byte) string { return e.fields[k] }

// plainError is a driver that tells the code only.
type plainError string

func (e plainError) Error() string    { return "database: " + string(e) }
func (e plainError) SQLState() string { return string(e) }

func TestErrorsOfDrivers(t *testing.T) {
	t.Parallel()
	detail := "field=extension 'a b'"
	message := "event 'x': extension 'a b': is wrong"
	for name, driverErr := range map[string]error{
		"pgx":    &pgconn.PgError{Code: "HF001", Detail: detail, Message: message, Hint: "do this"},
		"lib/pq": pqError{"HF001", map[byte]string{'D': detail, 'M': message, 'H': "do this"}},
	} {
		_, err := outbox.PublishSQLTx(t.Context(), &recorder{err: fmt.Errorf("wrapped: %w", driverErr)}, newEvent("x"))
		var invalid *outbox.InvalidEventError
		if !errors.As(err, &invalid) || invalid.Field != "extension 'a b'" || invalid.Problem != "is wrong" || invalid.Hint() != "do this" {
			t.Errorf("%s: error is %#v", name, invalid)
		}
		if !errors.Is(err, driverErr) && name == "pgx" {
			t.Errorf("%s: the driver's error is not in the tree", name)
		}
	}
	for code, want := range map[string]error{
		"3F000": outbox.ErrSchemaMissing, "42P01": outbox.ErrSchemaMissing, "42883": outbox.ErrSchemaMissing,
		"HF010": outbox.ErrGenerationUnknown, "HF011": outbox.ErrGenerationCancelled,
		"HF012": outbox.ErrGenerationReleased, "HF013": outbox.ErrGenerationSuperseded,
	} {
		_, err := outbox.PublishSQLTx(t.Context(), &recorder{err: plainError(code)}, newEvent("x"))
		if !errors.Is(err, want) || !errors.Is(err, plainError(code)) {
			t.Errorf("%s: error is %v, want %v", code, err, want)
		}
	}
	// A constraint that is not ours, of a trigger for example, is not our business.
	foreign := &pgconn.PgError{Code: "23514", ConstraintName: "orders_total"}
	_, err := outbox.PublishTx(t.Context(), &recorder{err: foreign}, newEvent("x"))
	if !errors.Is(err, foreign) || len(faults(err)) != 0 {
		t.Errorf("foreign constraint: error is %v", err)
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"40001": true, "40P01": true, "HF011": false, "23505": false, "57014": false, "": false} {
		if got := outbox.Retryable(fmt.Errorf("commit: %w", plainError(code))); got != want {
			t.Errorf("Retryable(%s) is %v", code, got)
		}
	}
	if outbox.Retryable(nil) || outbox.Retryable(errors.New("x")) {
		t.Error("an error without SQLSTATE is retryable")
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	db, empty := outboxtest.NewDatabase(t), outboxtest.NewEmptyDatabase(t)
	role := "nobody_" + db.Name
	if _, err := db.Pool.Exec(t.Context(), "CREATE ROLE "+role); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		db       *outboxtest.Database
		options  pgx.TxOptions
		before   string
		sentinel error
		hint     string
	}{
		{"nothing installed", empty, pgx.TxOptions{}, "", outbox.ErrSchemaMissing, "outbox-gen write"},
		{"not permitted", db, pgx.TxOptions{}, "SET LOCAL ROLE " + role, nil, "outbox-gen roles"},
		{"read-only", db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, "", nil, "read-write transaction"},
		{"aborted", db, pgx.TxOptions{}, "SELECT 1/0", nil, "roll back"},
	} {
		tx, err := c.db.Pool.BeginTx(t.Context(), c.options)
		if err != nil {
			t.Fatal(err)
		}
		if c.before != "" {
			_, err = tx.Exec(t.Context(), c.before)
			if (err != nil) != (c.name == "aborted") {
				t.Fatal(err)
			}
		}
		_, err = outbox.PublishTx(t.Context(), tx, newEvent("x"))
		var pg *pgconn.PgError
		if err == nil || !errors.As(err, &pg) || c.sentinel != nil && !errors.Is(err, c.sentinel) || !strings.Contains(outbox.Hint(err), c.hint) {
			t.Errorf("%s: error is %v, hint %q", c.name, err, outbox.Hint(err))
		}
		rollback(t, tx.Rollback)
	}
	// Without the component hold, the plain functions work and the held ones say what is missing.
	handle := stdlib.OpenDBFromPool(empty.Pool)
	defer closeHandle(t, handle)
	tx, err := handle.BeginTx(t.Context(), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = outbox.PublishSQLTx(t.Context(), tx, newEvent("x"))
	if !errors.Is(err, outbox.ErrSchemaMissing) {
		t.Errorf("database/sql: error is %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if _, err := db.Pool.Exec(t.Context(), "DROP ROLE "+role); err != nil {
		t.Error(err)
	}
}
