package command

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/relay"
)

// openPool makes a pool for that many workers. It connects to nothing yet.
func openPool(ctx context.Context, s *settings.Settings, workers int) (*pgxpool.Pool, error) {
	cfg, err := s.Pool(workers)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return pool, nil
}

// poolCloseTimeout bounds the wait for connections that are in use, or were lost by a part of the
// relay that died.
const poolCloseTimeout = 5 * time.Second

// closePool closes a pool; the end of the process does the rest.
func closePool(pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	timer := time.NewTimer(poolCloseTimeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// dial connects to NATS for one command: now or not at all. Close the connection.
func dial(s *settings.Settings) (jetstream.JetStream, error) {
	opts := append(relay.NATSOptions("holdfast-relay-cli"), s.Login()...)
	opts = append(opts, nats.RetryOnFailedConnect(false), nats.NoReconnect(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the call that failed says so
	nc, err := nats.Connect(s.Servers(), opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	return js, nil
}
