package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/surface"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// surfaceLook is how long the database is asked for what the surface needs, before the relay starts without
// having been told. One that is away says so at once, and one that is slower than this cannot be drained either.
const surfaceLook = 15 * time.Second

// serveHolds serves the control surface until ctx ends or stop is called, which waits for its end. What is
// broken at the start is refused, by the name of its setting; what breaks later leaves the relay alone.
func (d *daemon) serveHolds(ctx context.Context) (stop func(), err error) {
	if d.settings.HoldAddr == "" {
		return func() {}, nil
	}
	about, err := d.settings.HoldSurface(os.ReadFile)
	if err != nil {
		return nil, err
	}
	about.Logger = d.log
	cfg, err := d.settings.HoldPool()
	if err != nil {
		return nil, fmt.Errorf("RELAY_HOLD_DATABASE_URL: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("RELAY_HOLD_DATABASE_URL: %w", err)
	}
	server, err := d.startSurface(ctx, about, pool)
	if err != nil {
		closePool(pool)
		return nil, err
	}
	d.surface.Store(server)
	d.log.Info("control surface listens", "addr", server.Addr().String())
	// It stops while the relay does: neither waits for the other to begin.
	release := context.AfterFunc(ctx, server.Stop)
	return func() {
		release()
		server.Stop()
		about.Close()
		closePool(pool)
	}, nil
}

func (d *daemon) startSurface(ctx context.Context, about *settings.Surface, pool *pgxpool.Pool) (*surface.Server, error) {
	if err := d.lookAtHolds(ctx, pool); err != nil {
		return nil, err
	}
	handler, err := holdhttp.New(pool, about.Config)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(wire.Prefix+"/", handler)
	server, err := surface.Start(ctx, surface.Config{Addr: d.settings.HoldAddr, Handler: mux, TLS: d.surfaceTLS(about),
		Call: d.settings.HoldTimeout, Stop: d.settings.HoldStopTimeout, Log: d.log})
	if err != nil {
		e := &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err, Hint: "check --hold-addr or RELAY_HOLD_ADDR"}
		if errors.Is(err, syscall.EADDRINUSE) {
			e.Hint = "another process has the port: choose another with --hold-addr or RELAY_HOLD_ADDR, or port 0 for any"
		}
		return nil, e
	}
	return server, nil
}

// surfaceTLS is nil for plain text. Who has no client certificate may still have a token.
func (d *daemon) surfaceTLS(about *settings.Surface) *tls.Config {
	if about.Certificate == nil {
		return nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: surface.Certificate(d.settings.HoldCertFile, d.settings.HoldKeyFile, *about.Certificate)}
	if about.ClientCAs != nil {
		cfg.ClientAuth, cfg.ClientCAs = tls.VerifyClientCertIfGiven, about.ClientCAs
	}
	return cfg
}

// lookAtHolds refuses a database without holds, or a login that may not decide about them. One that does not
// answer yet decides nothing: the surface says so to its callers, and the relay waits for it.
func (d *daemon) lookAtHolds(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, surfaceLook)
	defer cancel()
	_, err := outbox.Verify(ctx, pool, d.settings.Schema, canonical.Hold)
	switch {
	case errors.Is(err, outbox.ErrSchemaMissing), errors.Is(err, outbox.ErrSchemaMismatch):
		return &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: fmt.Errorf("RELAY_HOLD_ADDR: check the database of the control surface: %w", err), Hint: exit.HintOf(err)}
	case err != nil:
		d.log.Warn("the control surface has not seen its database yet", "error", err)
		return nil
	}
	const sql = `SELECT coalesce(bool_and(has_function_privilege(p.oid, 'EXECUTE')), false) FROM pg_catalog.pg_proc AS p
	              WHERE p.pronamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = $1) AND p.proname IN ('hold_register', 'hold_release', 'hold_cancel')`
	var may bool
	if err := pool.QueryRow(ctx, sql, d.settings.Schema).Scan(&may); err != nil {
		d.log.Warn("the control surface has not seen its rights yet", "error", err)
		return nil
	}
	if !may {
		return exit.Errorf(exit.Denied, "RELAY_HOLD_DATABASE_URL: the login of the control surface may not decide about holds").
			WithHint("grant it the role operator: `outbox-gen roles` prints it")
	}
	return nil
}
