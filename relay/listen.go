package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// errNotHeard says that the relay does not hear what it says itself.
var errNotHeard = errors.New("a notification that the relay sent itself did not arrive")

// listen wakes the scout when a producer says NOTIFY. It holds a connection of its own.
// Through a pooler in transaction mode LISTEN succeeds and nothing arrives, so the relay
// notifies itself from time to time and says so when it does not hear it. Without
// notifications the relay polls, as it does anyway.
func (r *Relay) listen(soft context.Context) error {
	if r.cfg.ListenChannel == "" {
		<-soft.Done()
		return nil
	}
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.UnreadyAfter}
	told := false
	for {
		err := r.listenOnce(soft, func() {
			pause.reset()
			if told {
				told = false
				r.log.Info("notifications of the database arrive", "channel", r.cfg.ListenChannel)
			}
		})
		if soft.Err() != nil {
			return nil
		}
		if !told {
			told = true
			r.log.Warn("no wake-ups by LISTEN: the relay polls", "channel", r.cfg.ListenChannel, "error", err, "hint", listenHint(err))
		}
		if !pause.wait(soft, nil) {
			return nil
		}
	}
}

func listenHint(err error) string {
	if errors.Is(err, errNotHeard) {
		return "a pooler in transaction mode swallows notifications: connect the relay past it or in session mode, or unset RELAY_LISTEN_CHANNEL"
	}
	return databaseHint(err)
}

// listenOnce listens on one connection until something fails. It calls heard when the connection
// has proven that notifications arrive.
func (r *Relay) listenOnce(soft context.Context, heard func()) error {
	cfg := r.db.pool.Config()
	if cfg.BeforeConnect != nil { // it may know a newer password
		if err := cfg.BeforeConnect(soft, cfg.ConnConfig); err != nil {
			return fmt.Errorf("connect to listen: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(soft, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to listen: %w", err)
	}
	defer func() {
		// Detached: the connection is closed when the run is over, too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(soft), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // it only listened
	}()
	if _, err := conn.Exec(soft, "LISTEN "+pgx.Identifier{r.cfg.ListenChannel}.Sanitize()); err != nil {
		return fmt.Errorf("listen on %s: %w", r.cfg.ListenChannel, err)
	}
	for {
		if err := r.proveListening(soft, conn); err != nil {
			return err
		}
		heard()
		if err := r.takeNotifications(soft, conn, "", r.listenProbe()); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// proveListening sends a notification through the pool and waits for it.
func (r *Relay) proveListening(soft context.Context, conn *pgx.Conn) error {
	probe := "probe " + randomText(16)
	ctx, cancel := r.soon(soft)
	defer cancel()
	if _, err := r.db.pool.Exec(ctx, "SELECT pg_catalog.pg_notify($1::text, $2::text)", r.cfg.ListenChannel, probe); err != nil {
		return fmt.Errorf("notify %s: %w", r.cfg.ListenChannel, err)
	}
	err := r.takeNotifications(soft, conn, probe, r.cfg.AckTimeout)
	if errors.Is(err, context.DeadlineExceeded) {
		return errNotHeard
	}
	return err
}

// takeNotifications wakes the scout for each notification, until the one with the payload that
// is awaited, if any. An end by the limit is a [context.DeadlineExceeded].
func (r *Relay) takeNotifications(soft context.Context, conn *pgx.Conn, awaited string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(soft, limit)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil && soft.Err() == nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("wait for notifications: %w", err)
		case awaited != "" && n.Payload == awaited:
			return nil
		default:
			r.wakeUp()
		}
	}
}
