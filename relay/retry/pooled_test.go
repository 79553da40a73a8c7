//go:build pooler

package retry_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// relayURL is how a store gets to a database: with the build tag pooler, through pgbouncer in
// transaction mode.
func relayURL(t *testing.T, server string) string {
	t.Helper()
	url, err := outboxtest.NewPooler(t, server, harness.PoolerOptions{}).URL(server)
	if err != nil {
		t.Fatal(err)
	}
	return url
}
