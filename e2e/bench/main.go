package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	cfg := settings{}
	flag.IntVar(&cfg.events, "events", 200_000, "events of a drain run")
	flag.IntVar(&cfg.runs, "runs", 3, "runs of each measurement; their median is printed")
	flag.IntVar(&cfg.size, "size", 512, "payload bytes of an event")
	flag.BoolVar(&cfg.quick, "quick", false, "one run of a tenth of everything, for a look in about a minute: its figures are not for quoting")
	flag.IntVar(&cfg.soak, "soak", 0, "write this many events, such as 10000000, with slots emptied on the way, instead of everything else")
	flag.StringVar(&cfg.profile, "cpuprofile", "", "write a CPU profile of the first drain run to this file")
	only := flag.String("only", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	flag.Parse()
	if cfg.quick {
		cfg.events, cfg.runs = max(cfg.events/10, 1000), 1
	}
	chosen, err := choose(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The relay's own log lines are not what this program prints.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := run(ctx, cfg, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the sizes of the measurements.
type settings struct {
	events, runs, size int
	soak               int
	quick              bool
	profile            string
}

// scaled returns n, or a tenth of it when a quick look was asked for.
func (s settings) scaled(n int) int {
	if s.quick {
		return n / 10
	}
	return n
}

// measurement is something that can be measured by itself. It prints its figures.
type measurement struct {
	name string
	run  func(context.Context, *rig) error
}

func measurements() []measurement {
	return []measurement{
		{"drain", measureDrain}, {"latency", measureLatency}, {"idle", measureIdle}, {"stage", measureStaging},
		{"append", measureAppend},
		{"retained", measureRetained}, {"backlog", measureBacklog}, {"scale", measureScale}, {"hold", measureHold},
		{"consume", measureConsume}, {"recovery", measureRecovery},
	}
}

func names() []string {
	var list []string
	for _, m := range measurements() {
		list = append(list, m.name)
	}
	return list
}

// choose returns the measurements of a list of names; all for none.
func choose(only string) ([]measurement, error) {
	all := measurements()
	if only == "" {
		return all, nil
	}
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("there is no measurement %q: there are %s", name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(m measurement) bool { return !slices.Contains(wanted, m.name) }), nil
}

func run(ctx context.Context, cfg settings, chosen []measurement) error {
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
	for _, m := range chosen {
		if err := m.run(ctx, rig); err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
	}
	return nil
}
