package outboxtest

import (
	"testing"
	"time"
)

// Eventually waits until a condition holds, and fails the test when it does not within a time.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond) // between two looks, not instead of one
	}
}
