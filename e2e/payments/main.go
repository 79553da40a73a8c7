package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/consumers"
	"github.com/holdfast-dev/holdfast/e2e/payments/perdiem"
	"github.com/holdfast-dev/holdfast/e2e/payments/wallet"
)

// Exit codes, by the conventions of the relay's command line.
const (
	exitOK    = 0
	exitNo    = 1
	exitUsage = 2
)

// settings are the flags.
type settings struct {
	database, nats, stream string
	batch                  int
	quick                  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal cuts
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	handle, cfg, set, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "payments:", err)
		return exitUsage
	}
	if err := consume(ctx, handle, cfg, set); err != nil {
		fmt.Fprintln(stderr, "payments:", err)
		return exitNo
	}
	return exitOK
}

// consume runs a service until ctx ends.
func consume(ctx context.Context, handle consumers.Handler, cfg consumers.Config, set settings) error {
	pool, err := pgxpool.New(ctx, set.database)
	if err != nil {
		return err
	}
	defer pool.Close()
	nc, err := nats.Connect(set.nats, nats.Name(cfg.Name), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	defer nc.Close()
	c, err := consumers.New(pool, nc, handle, cfg)
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

func parse(args []string, stderr io.Writer) (handle consumers.Handler, cfg consumers.Config, set settings, err error) {
	flags := flag.NewFlagSet("payments", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&set.database, "database", "", "URL of the service's own database")
	flags.StringVar(&set.nats, "nats", nats.DefaultURL, "URL of the broker")
	flags.StringVar(&set.stream, "stream", "EVENTS", "the stream that is consumed")
	flags.IntVar(&set.batch, "batch", 1, "how many events share a transaction at most")
	flags.BoolVar(&set.quick, "quick", false, "short pauses, for tests")
	if len(args) == 0 {
		return nil, cfg, set, errors.New("which service: wallet or perdiem")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return nil, cfg, set, err
	}
	switch args[0] {
	case "wallet":
		handle, cfg = wallet.Handle, wallet.Config(set.stream)
	case "perdiem":
		handle, cfg = perdiem.Handle, perdiem.Config(set.stream)
	default:
		return nil, cfg, set, fmt.Errorf("no service %q: wallet or perdiem", args[0])
	}
	cfg.Batch = set.batch
	if set.quick {
		cfg = quick(cfg)
	}
	return handle, cfg, set, nil
}

// quick is a consumer whose pauses are a hundredth or less of the defaults.
func quick(cfg consumers.Config) consumers.Config {
	cfg.AckWait = time.Second
	cfg.RetryMin, cfg.RetryMax, cfg.OutageMax = 5*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	cfg.FetchWait, cfg.SettleTimeout = 200*time.Millisecond, time.Second
	cfg.ControlEvery, cfg.MeasureEvery, cfg.PruneEvery = 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond
	cfg.SilentAfter = 300 * time.Millisecond
	return cfg
}
