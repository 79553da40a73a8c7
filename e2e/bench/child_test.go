package main

import (
	"errors"
	"testing"
)

// TestRelayThatEnds fails the measurement, which would wait for its work.
func TestRelayThatEnds(t *testing.T) {
	t.Parallel()
	r, pool := testRig(t)
	if _, err := pool.Exec(t.Context(), "ALTER TABLE outbox.event_outbox DROP CONSTRAINT event_outbox_values"); err != nil {
		t.Fatal(err)
	}
	if err := r.load(t.Context(), pool, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := r.drainWithChildren(t.Context(), pool, 10, 1); !errors.Is(err, errEnded) {
		t.Errorf("error is %v", err)
	}
}
