package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "pgbin:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, log io.Writer) error {
	if len(args) != 1 {
		return &Error{Op: "read arguments", Err: fmt.Errorf("got %d, want one", len(args)), Hint: "go run ./e2e/pgbin 18"}
	}
	r, err := releaseOf(args[0])
	if err != nil {
		return err
	}
	base, err := cacheDir()
	if err != nil {
		return err
	}
	i := installer{base: base, npm: npm{log: log, euid: os.Geteuid(), run: runCommand}, log: log}
	dir, err := i.install(ctx, r)
	if err == nil {
		err = linkClient(dir, log)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, dir)
	return err
}
