package outboxtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// recorder is a test whose errors are expected.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestConnectionInUseIsReported(t *testing.T) {
	t.Parallel()
	db := NewDatabase(t)
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	closePool(r, db.Pool, time.Millisecond)
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "1 connections are still in use") {
		t.Errorf("errors %q", r.errors)
	}
	conn.Release()
}
