package fault_test

import (
	"os"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

func TestMain(m *testing.M) {
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	outboxtest.Main(m)
}

// eventually polls a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	outboxtest.Eventually(t, 90*time.Second, what, condition)
}

// hits waits until a rule has acted n times.
func hits(t *testing.T, h *fault.Handle, n int) {
	t.Helper()
	eventually(t, "the rule acts", func() bool { return h.Hits() >= n })
	if got := h.Hits(); got != n {
		t.Errorf("the rule acted %d times, want %d", got, n)
	}
}
