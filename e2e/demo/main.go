package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Exit codes, by the conventions of the relay's command line.
const (
	exitOK          = 0
	exitNo          = 1 // something was lost, or the demo could not run
	exitUsage       = 2
	exitInterrupted = 130
)

// settings are the flags.
type settings struct {
	orders  int
	workers int
	seed    uint64
	serve   bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second ctrl-C cuts
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	set, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	ok, err := (&demo{settings: set, stdout: stdout, screen: newScreen(stderr)}).run(ctx)
	switch {
	case ctx.Err() != nil && !ok:
		fmt.Fprintln(stderr, "demo: interrupted")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "demo:", err)
		if hint := outbox.Hint(err); hint != "" {
			fmt.Fprintln(stderr, "hint:", hint)
		}
		return exitNo
	case !ok:
		return exitNo
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.orders, "orders", 12_000, "how many orders to place")
	flags.IntVar(&s.workers, "workers", 16, "how many transactions run at the same time")
	flags.Uint64Var(&s.seed, "seed", rand.Uint64()>>16, "what happens to which order; random by default, and printed")
	flags.BoolVar(&s.serve, "serve", false, "keep everything running afterwards, to look around in")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || s.orders < 1 || s.workers < 1 {
		fmt.Fprintln(stderr, "demo: takes flags only, and -orders and -workers of at least 1")
		return s, errors.New("usage")
	}
	return s, nil
}
