package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	events := flag.Int("events", 200_000, "events of a drain run")
	runs := flag.Int("runs", 3, "runs of each measurement; their median is printed")
	size := flag.Int("size", 512, "payload bytes of an event")
	soaked := flag.Int("soak", 0, "write this many events, such as 10000000, with slots emptied on the way, instead of the drain runs")
	profile := flag.String("cpuprofile", "", "write a CPU profile of the drain runs to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The relay's own log lines are not what this program prints.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := run(ctx, settings{events: *events, runs: *runs, size: *size, profile: *profile, soak: *soaked}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the sizes of the measurements.
type settings struct {
	events, runs, size int
	soak               int
	profile            string
}

func run(ctx context.Context, cfg settings) error {
	rig, err := newRig(ctx, cfg)
	if err != nil {
		return err
	}
	defer rig.close()
	fmt.Printf("# %s/%s, %d CPUs, %s, %s, %s, nats-server %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel(), runtime.Version(), rig.pgVersion, rig.natsVersion)
	if cfg.soak > 0 {
		fmt.Printf("# %d events of %d bytes, %d to a slot\n", cfg.soak, cfg.size, soakCycle)
		return soak(ctx, rig, cfg.soak)
	}
	fmt.Printf("# %d events of %d bytes, 10,000 keys, median of %d interleaved runs\n", cfg.events, cfg.size, cfg.runs)
	return measureDrain(ctx, rig)
}
