package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/e2e/finalize/intake"
	"github.com/holdfast-dev/holdfast/e2e/finalize/registry"
	"github.com/holdfast-dev/holdfast/hold/holdclient"
	"github.com/holdfast-dev/holdfast/hold/holdhttp"
	"github.com/holdfast-dev/holdfast/hold/saga"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "finalize:", err)
		}
		os.Exit(1)
	}
}

// settings are the flags; what is secret comes from the environment.
type settings struct {
	listen, registry string
	install          bool
	times            saga.Settings
}

// service is one of the two.
type service struct {
	http.Handler
	run func(ctx context.Context) error // until ctx ends
}

// run serves until ctx ends. Its first line of output is the address that it listens on.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	if len(args) == 0 || args[0] != "registry" && args[0] != "intake" {
		return errors.New("say which service: registry or intake")
	}
	set, err := parse(args, stderr)
	if err != nil {
		return err
	}
	db, err := pgxpool.New(ctx, env("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	build, install := newRegistry, registry.Install
	if args[0] == "intake" {
		build, install = newIntake, intake.Install
	}
	if set.install {
		if err := install(ctx, db); err != nil {
			return err
		}
	}
	s, err := build(db, set, env, logger)
	if err != nil {
		return err
	}
	return serve(ctx, s, set.listen, stdout)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "loopback address to listen on")
	flags.BoolVar(&s.install, "install", false, "make the tables of the service first")
	flags.StringVar(&s.registry, "registry", "", "address of the registry, for the intake")
	flags.DurationVar(&s.times.Lease, "lease", 0, "lease of an operation")
	flags.DurationVar(&s.times.Heartbeat, "heartbeat", 0, "pause between two renewals")
	flags.DurationVar(&s.times.ParticipantTimeout, "timeout", 0, "how long one call may take")
	flags.DurationVar(&s.times.Margin, "margin", 0, "what is left of a lease after the slowest call")
	flags.DurationVar(&s.times.Grace, "grace", 0, "how long a lease must be over before an operation is undone")
	flags.DurationVar(&s.times.Period, "period", 0, "pause between two ticks of the reconciler, or two passes of the keeper")
	flags.DurationVar(&s.times.Pause, "pause", 0, "pause after a failure of the reconciler")
	flags.DurationVar(&s.times.MaxPause, "max-pause", 0, "longest pause after a failure")
	return s, flags.Parse(args[1:])
}

func newRegistry(db *pgxpool.Pool, set settings, env func(string) string, logger *slog.Logger) (service, error) {
	s, err := registry.New(db, registry.Config{Token: holdhttp.HashToken(env("TOKEN")), Every: set.times.Period, Logger: logger})
	if err != nil {
		return service{}, err
	}
	return service{Handler: s, run: s.Run}, nil
}

func newIntake(db *pgxpool.Pool, set settings, env func(string) string, logger *slog.Logger) (service, error) {
	keys, err := saga.NewKeys("current", map[string][]byte{"current": []byte(env("DIGEST_KEY"))})
	if err != nil {
		return service{}, err
	}
	client, err := holdclient.New(holdclient.Config{URL: set.registry, Token: holdclient.StaticToken(env("TOKEN"))})
	if err != nil {
		return service{}, err
	}
	s, err := intake.New(db, intake.Config{Registry: client, RegistryURL: set.registry, Keys: keys, Settings: set.times, Logger: logger})
	if err != nil {
		return service{}, err
	}
	return service{Handler: s, run: s.Run}, nil
}

const (
	readHeaderTimeout = 5 * time.Second
	drainLimit        = 5 * time.Second
)

// serve answers until ctx ends, and then lets what has begun end.
func serve(ctx context.Context, s service, address string, stdout io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return errors.Join(errors.New("listen on loopback: the intake asks nobody who they are"), listener.Close())
	}
	fmt.Fprintln(stdout, listener.Addr())
	server := &http.Server{Handler: s, ReadHeaderTimeout: readHeaderTimeout}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		return server.Shutdown(limited)
	})
	group.Go(func() error { return s.run(ctx) })
	return group.Wait()
}
