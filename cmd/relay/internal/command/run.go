package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/probe"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/settings"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/surface"
	"github.com/holdfast-dev/holdfast/cmd/relay/internal/telemetry"
	"github.com/holdfast-dev/holdfast/relay"
	"github.com/holdfast-dev/holdfast/relay/retention"
)

// httpStopTimeout bounds how long requests in flight keep the process alive.
const httpStopTimeout = 2 * time.Second

func runCommand(p Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:   "run",
		Short: "Drain the outbox to the stream until stopped",
		Long: effects("the stream, which gets the events; cursors and leases in the database; slots of the log whose events\n"+
			"         every relay group has published long ago, which are emptied (RELAY_MAINTENANCE, RELAY_RETENTION).",
			"changes an event, the schema, or the stream's configuration.") +
			"\n\nWith RELAY_HOLD_ADDR it also serves the control surface of holds, by which coordinators register, release and\n" +
			"cancel generations." +
			"\n\nIt waits for a database, a broker and a stream that are not there yet. It refuses to start against a\n" +
			"stream that would lose or repeat events, exit status 2: relay check says what is wrong, and --allow\n" +
			"overrides a check by name. SIGTERM or ctrl-C once finishes the\n" +
			"batches in flight and hands the lanes back, exit status 0; twice cuts. Run two or more for one\n" +
			"database: they share the lanes.",
		Example: "  relay run --stream ORDERS",
	})
	load := settingFlags(c, p, settings.Sections()...)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		loaded, err := load(settings.NeedRelay)
		if loaded.LogFormat == "json" && p.jsonLog != nil {
			p.jsonLog.Store(true)
		}
		if err != nil {
			return err
		}
		d := &daemon{
			settings: &loaded.Settings,
			log:      telemetry.NewLogger(cmd.ErrOrStderr(), loaded.LogFormat, loaded.LogLevel),
		}
		return d.run(cmd.Context())
	}
	return c
}

// daemon is a relay with all that a process needs around it.
type daemon struct {
	settings *settings.Settings
	log      *slog.Logger

	relay    atomic.Pointer[relay.Relay]    // nil until it was made
	detail   atomic.Pointer[detail]         // nil until there is something to look at
	surface  atomic.Pointer[surface.Server] // nil until it serves, and where it is off
	stopping atomic.Bool
	login    brokerLog
}

// run drains until ctx ends. The HTTP server comes first and goes last, so that
// probes are answered all the time between.
func (d *daemon) run(ctx context.Context) (err error) {
	info := readBuild()
	d.login.log = d.log
	observed, err := telemetry.Start(ctx, telemetry.Process{Version: info.Version, Commit: info.Commit, Go: info.Go, Group: d.settings.Group}, os.Getenv, d.log)
	if err != nil {
		return err
	}
	defer observed.Stop() // last, within a deadline of its own: it is the least important
	server, err := probe.Listen(ctx, d.settings.HTTPAddr, probe.Handler(d.ready, observed.Handler()), d.log)
	if err != nil {
		return listenError(err)
	}
	d.log.Info("http server listens", "addr", server.Addr().String())

	ctx, cancel := context.WithCancelCause(ctx)
	serving := make(chan error, 1)
	go func() {
		err := server.Serve()
		cancel(err) // without probes the pod would soon be killed: stop in order
		serving <- err
	}()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpStopTimeout)
		defer cancel()
		err = errors.Join(err, server.Shutdown(ctx), <-serving)
	}()
	stopSurface, err := d.serveHolds(ctx)
	if err != nil {
		return err
	}
	defer stopSurface()
	return d.drain(ctx, info.Version)
}

// drain runs the relay with its connections.
func (d *daemon) drain(ctx context.Context, version string) error {
	pool, err := openPool(ctx, d.settings, d.settings.Workers)
	if err != nil {
		return err
	}
	defer closePool(pool)
	opts := append(relay.NATSOptions("holdfast-relay"), d.settings.Login()...)
	opts = append(opts, d.login.options()...)
	nc, err := nats.Connect(d.settings.Servers(), opts...)
	if err != nil {
		return &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: fmt.Errorf("connect to nats: %w", err), Hint: "relay config print"}
	}
	defer nc.Close()

	target, err := checkTarget(d.settings)
	if err != nil {
		return err
	}
	gate := &startGate{d: d, target: target, nc: nc}
	cfg := d.settings.Relay()
	cfg.Version, cfg.Logger, cfg.Admit = version, d.log, gate.admit
	r, err := relay.New(pool, nc, cfg)
	if err != nil {
		return err
	}
	looks := newDetail(ctx, target)
	defer looks.stop()
	d.detail.Store(looks)
	d.relay.Store(r)

	if d.settings.Maintenance {
		stop, err := d.keep(ctx, pool)
		if err != nil {
			return err
		}
		defer stop()
	}

	defer context.AfterFunc(ctx, func() {
		d.stopping.Store(true)
		d.log.Info("stopping", "cause", context.Cause(ctx))
	})()
	return d.guarded(ctx, r, gate)
}

// keep looks after retention until stop is called or ctx ends. Nothing that goes wrong in it ends the relay.
func (d *daemon) keep(ctx context.Context, pool *pgxpool.Pool) (stop func(), err error) {
	cfg := d.settings.Keeper()
	cfg.Logger = d.log
	keeper, err := retention.New(pool, cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = keeper.Run(ctx) // it says itself what goes wrong
	}()
	return func() { cancel(); <-ended }, nil
}

// guarded runs the relay unless the gate refuses, now or later.
func (d *daemon) guarded(ctx context.Context, r *relay.Relay, gate *startGate) error {
	decided, err := gate.decide(ctx, gateFirstTimeout)
	if err != nil {
		return err
	}
	if decided || ctx.Err() != nil {
		return r.Run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	refusal := make(chan error, 1) // so that the gate can end first
	go func() {
		err := gate.watch(ctx)
		if err != nil {
			cancel()
		}
		refusal <- err
	}()
	err = r.Run(ctx)
	cancel()
	return errors.Join(<-refusal, err)
}

// ready says what keeps the relay from its work; nil means nothing.
func (d *daemon) ready() *probe.Reason {
	if d.stopping.Load() {
		return &probe.Reason{Code: "stopping", Message: "the relay is stopping"}
	}
	if s := d.surface.Load(); s != nil && s.Failed() != nil {
		return &probe.Reason{Code: "holds", Message: "the control surface failed: " + s.Failed().Error(), Hint: "restart this pod: the events drain all the same"}
	}
	r := d.relay.Load()
	if r == nil {
		return &probe.Reason{Code: "start", Message: "the relay is starting"}
	}
	err := r.Ready()
	if err == nil {
		return nil
	}
	reason := &probe.Reason{Code: "relay", Message: err.Error(), Hint: exit.HintOf(err)}
	var typed *relay.NotReadyError
	if errors.As(err, &typed) {
		reason.Code, reason.Hint, reason.Since = typed.What, typed.Hint, typed.Since.UTC()
	}
	if cause := d.login.denied(); cause != nil && reason.Code == "broker" {
		reason.Message, reason.Hint = reason.Message+": "+cause.Error(), "check the credentials and the permissions of the NATS user"
	}
	if looks := d.detail.Load(); looks != nil {
		reason.Findings = looks.found()
	}
	return reason
}

func listenError(err error) error {
	e := &exit.Error{Code: exit.Usage, Kind: kindConfiguration, Err: err, Hint: "check --http-addr or RELAY_HTTP_ADDR"}
	if errors.Is(err, syscall.EADDRINUSE) {
		e.Hint = "another process has the port: choose another with --http-addr or RELAY_HTTP_ADDR, or port 0 for any"
	}
	return e
}
