//go:build pooler

package check_test

import (
	"net/url"
	"testing"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// TestBehindPgbouncer: as TestBehindAPooler, with pgbouncer in transaction mode. It has a build tag,
// because pgbouncer must be installed; one before 1.21 loses prepared statements.
func TestBehindPgbouncer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pooler := outboxtest.NewPooler(t, b.db.URL, harness.PoolerOptions{Settings: map[string]string{
		"default_pool_size": "5", "max_prepared_statements": "0",
	}})
	server, err := url.Parse(b.db.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.User = url.User(b.login())
	through, err := pooler.URL(server.String())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("default_query_exec_mode") // the hint has to say so
	u.RawQuery = query.Encode()
	behindTransactionPooler(b, u)
}
