package relay

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/relay/internal/advice"
)

// PoolConfig parses a database URL or DSN into the settings of a pool for a relay that
// runs with the given number of workers. It refuses what would be unsafe; its
// errors never contain a password.
func PoolConfig(url string, workers int) (*pgxpool.Config, error) {
	if strings.ContainsRune(url, 0) {
		return nil, errors.New("database url: has a NUL byte")
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	if cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return nil, errors.New("database url: default_query_exec_mode=simple_protocol builds SQL from text on the client: use exec or cache_statement")
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = int32(workers) + 1
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "holdfast-relay"
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	// The default would notice the death of a host after minutes.
	alive := net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}
	cfg.ConnConfig.DialFunc = (&net.Dialer{Timeout: cfg.ConnConfig.ConnectTimeout, KeepAliveConfig: alive}).DialContext
	cfg.BeforeClose = cutBroken
	return cfg, nil
}

// goodbye is how long a broken connection may take to be closed in order.
const goodbye = time.Second

// cutBroken closes a connection that broke, when its other end does not. pgx would wait for that end
// for 15 s, while the connection holds its place in the pool and nobody can close the pool.
// A pooler whose server is down does not read what its clients say, so all would wait.
func cutBroken(conn *pgx.Conn) {
	if !conn.IsClosed() {
		return // it is closed now, without waiting
	}
	patience := time.NewTimer(goodbye)
	defer patience.Stop()
	select {
	case <-conn.PgConn().CleanupDone():
	case <-patience.C:
		_ = conn.PgConn().Conn().Close() // what it says matters to nobody
	}
}

// NATSOptions are the options that a relay's connection needs: it never buffers while it is
// disconnected, because what is buffered is sent after its outcome was given up; it
// reconnects for ever, also after an authentication error; it notices a dead server within
// seconds; and it does not print what goes wrong: outcomes come with the publications.
func NATSOptions(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.Timeout(5 * time.Second),
		nats.DrainTimeout(5 * time.Second),
		nats.PermissionErrOnSubscribe(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// permanent reports whether waiting cannot mend a database error at start.
func permanent(err error) bool {
	if refusal(err) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "42501", "42P01", "42703", "42883", "3F000", "28P01", "28000", "3D000":
		return true
	}
	return false
}

// withHint adds the hint of a database error, unless it has one.
func withHint(err error) error { return advice.Add(err, databaseHint(err)) }

// databaseHint says what a person can do about a database error.
func databaseHint(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return "check that the server runs and that the relay can reach it"
	}
	switch pg.Code {
	case "28P01", "28000":
		return "check the user and the password of RELAY_DATABASE_URL"
	case "3D000":
		return "check the database name of RELAY_DATABASE_URL"
	case "42501":
		return "grant the relay's role its rights"
	case "42P01", "42703", "42883", "3F000":
		return "the schema is not installed as this build expects it"
	case "22P02":
		return "a trigger or a rule changes what the relay writes: `outbox-gen verify` shows what was added to the schema"
	case "25006":
		return "connect to the primary, for example with target_session_attrs=read-write; a pooler may keep sessions from before: RECONNECT on its console renews them"
	case "57P01", "57P02", "57P03":
		return "the server is restarting, or somebody terminates connections: wait"
	case "53300":
		return "raise max_connections or lower pool_max_conns"
	case "08P01":
		return "if a pooler answered, its message says why it refuses: a limit of its own, a start-up parameter that it does not know, or what the server told it"
	case "0A000":
		return "a pooler that keeps prepared statements keeps those from before a change of the schema: RECONNECT on its console renews them"
	case "26000", "42P05":
		return "a pooler without prepared statements: add default_query_exec_mode=exec to the database URL"
	default:
		return "see SQLSTATE " + pg.Code
	}
}
