package outboxtest

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
)

// NewPooler starts pgbouncer in front of the server that a URL names, and closes it when the test
// ends. It must be installed.
func NewPooler(t testing.TB, server string, opts harness.PoolerOptions) *harness.Pooler {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), setupLimit)
	defer cancel()
	p, err := harness.StartPooler(ctx, server, opts)
	if err != nil {
		t.Fatalf("outboxtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("outboxtest: what pgbouncer logged:\n%s", p.Log())
		}
		if err := p.Close(); err != nil {
			t.Errorf("outboxtest: %v", err)
		}
	})
	return p
}
