package relay_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/relay"
)

func newRelay(t *testing.T, cfg relay.Config) (*relay.Relay, error) {
	t.Helper()
	poolConfig, err := relay.PoolConfig("postgres://nobody@127.0.0.1:1/nowhere", 1)
	if err != nil {
		t.Fatalf("pool config: %v", err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), poolConfig)
	if err != nil {
		t.Fatalf("pool: %v", err)
	}
	t.Cleanup(pool.Close)
	nc, err := nats.Connect(outboxtest.NewNATS(t).URL(), relay.NATSOptions("config-test")...)
	if err != nil {
		t.Fatalf("connect to NATS: %v", err)
	}
	t.Cleanup(nc.Close)
	return relay.New(pool, nc, cfg)
}

func TestConfigErrorNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := newRelay(t, relay.Config{
		Stream: "a.b", Schema: "outbox; DROP TABLE x", Group: strings.Repeat("g", 65), Owner: "a\x00b", Version: "\xff",
		BatchSize: 10_001, BatchBytes: 1, Workers: 257, Lease: time.Millisecond,
		PollMin: time.Second, PollMax: time.Millisecond, AckTimeout: time.Millisecond,
		RetryMin: time.Second, RetryMax: time.Millisecond, StopTimeout: -1, UnreadyAfter: -1, MeasureEvery: 1,
	})
	var config *relay.ConfigError
	if !errors.As(err, &config) {
		t.Fatalf("new: %v", err)
	}
	for _, want := range []string{
		"stream ", "schema ", "group ", "owner ", "version ", "batch size ", "batch bytes ", "workers ", "lease ",
		"poll min ", "ack timeout ", "retry min ", "stop timeout ", "unready after ", "measure every ",
	} {
		found := 0
		for _, problem := range config.Problems {
			if strings.HasPrefix(problem, want) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d problems begin with %q, want 1:\n%s", found, want, strings.Join(config.Problems, "\n"))
		}
	}
	if len(config.Problems) != 15 {
		t.Errorf("%d problems:\n%s", len(config.Problems), strings.Join(config.Problems, "\n"))
	}
}

func TestConfigNeedsNothingButAStream(t *testing.T) {
	t.Parallel()
	if _, err := newRelay(t, relay.Config{}); err == nil || !strings.Contains(err.Error(), "stream") {
		t.Errorf("without a stream: %v", err)
	}
	r, err := newRelay(t, relay.Config{Stream: streamName})
	if err != nil {
		t.Fatalf("with a stream: %v", err)
	}
	if r.Owner() == "" || len(r.Owner()) > 128 {
		t.Errorf("owner %q", r.Owner())
	}
	if r.Ready() == nil {
		t.Error("ready before it runs")
	}
}

func TestConfigRefusesATemplateThatIsNoSubject(t *testing.T) {
	t.Parallel()
	var config *relay.ConfigError
	if _, err := newRelay(t, relay.Config{Stream: streamName, SubjectTemplate: "{nothing}"}); !errors.As(err, &config) {
		t.Errorf("new: %v", err)
	}
}

func TestPoolConfigRefusesWhatIsUnsafeAndKeepsSecrets(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:s3cret@127.0.0.1/db?default_query_exec_mode=simple_protocol",
		"postgres://u:s3cret@127.0.0.1/db?pool_max_conns=many",
		"postgres://u:s3cret@127.0.0.1:port/db",
		"postgres://u:s3cret@127.0.0.1/db?application_name=a\x00b",
		"host=127.0.0.1 user=u password=s3cret sslmode=perhaps",
	} {
		_, err := relay.PoolConfig(url, 4)
		if err == nil {
			t.Errorf("%q is accepted", url)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
	config, err := relay.PoolConfig("postgres://u:pa$$word@127.0.0.1/db", 7)
	if err != nil {
		t.Fatalf("a plain url: %v", err)
	}
	if config.MaxConns != 8 || config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.RuntimeParams["application_name"] == "" {
		t.Errorf("%d connections, connect timeout %s, application name %q", config.MaxConns, config.ConnConfig.ConnectTimeout, config.ConnConfig.RuntimeParams["application_name"])
	}
	if config.ConnConfig.Password != "pa$$word" || config.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		t.Errorf("password %q, mode %v", config.ConnConfig.Password, config.ConnConfig.DefaultQueryExecMode)
	}
	own, err := relay.PoolConfig("postgres://u@127.0.0.1/db?pool_max_conns=3&application_name=mine", 7)
	if err != nil || own.MaxConns != 3 || own.ConnConfig.RuntimeParams["application_name"] != "mine" {
		t.Errorf("settings of the url are not kept: %v, %v", own, err)
	}
}
