package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
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

// dialFor connects to NATS for one command, and ends the context of the command when the server refuses it
// a permission: the call itself would only run into its timeout. Close the connection.
func dialFor(cmd *cobra.Command, s *settings.Settings) (jetstream.JetStream, error) {
	ctx, refused := context.WithCancelCause(cmd.Context())
	cmd.SetContext(ctx)
	return dial(ctx, s, refused)
}

// dial connects to NATS: now or not at all. Close the connection.
func dial(ctx context.Context, s *settings.Settings, refused func(error)) (jetstream.JetStream, error) {
	opts := append(relay.NATSOptions("holdfast-relay-cli"), s.Login()...)
	opts = append(opts, nats.RetryOnFailedConnect(false), nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if isDenied(err) { // of anything else the call that failed says so
			refused(err)
		}
	}))
	nc, err := connect(ctx, s.Servers(), opts...)
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

// connect is nats.Connect, which knows no context.
func connect(ctx context.Context, servers string, opts ...nats.Option) (*nats.Conn, error) {
	type outcome struct {
		nc  *nats.Conn
		err error
	}
	came := make(chan outcome)
	go func() {
		nc, err := nats.Connect(servers, opts...)
		select {
		case came <- outcome{nc, err}:
		case <-ctx.Done():
			if err == nil {
				nc.Close()
			}
		}
	}()
	select {
	case o := <-came:
		return o.nc, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refusedByBroker replaces the error of a command whose context was ended because NATS refused it a permission.
func refusedByBroker(ran *cobra.Command, err error) error {
	if ran == nil || ran.Context() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	if cause := context.Cause(ran.Context()); isDenied(cause) {
		return &exit.Error{Code: exit.Denied, Err: cause, Hint: "permit the NATS user what it was refused: relay check says which permissions a relay needs"}
	}
	return err
}
