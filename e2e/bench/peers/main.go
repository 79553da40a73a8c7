package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

func main() {
	events := flag.Int("events", 20_000, "events of a run")
	runs := flag.Int("runs", 3, "runs of each peer; their median is printed")
	size := flag.Int("size", 512, "payload bytes of an event, 2 or more")
	only := flag.String("only", "", "run only these beside holdfast, separated by commas: "+strings.Join(names(), ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	chosen, err := choose(*only)
	if err == nil && (*events < 1 || *runs < 1 || *size < 2) {
		err = fmt.Errorf("read flags: -events and -runs must be 1 or more, and -size 2 or more")
	}
	if err == nil {
		err = measure(ctx, os.Stdout, chosen, *runs, *events, *size)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func names() []string {
	var list []string
	for _, e := range entrants() {
		list = append(list, e.name)
	}
	return list
}

// choose returns the entrants of a list of names, the first one always; all for none.
func choose(only string) ([]entrant, error) {
	all := entrants()
	if only == "" {
		return all, nil
	}
	wanted := append(strings.Split(only, ","), all[0].name)
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("there is no peer %q: there are %s", name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(e entrant) bool { return !slices.Contains(wanted, e.name) }), nil
}

// measure runs every entrant in turn, as often as asked, and prints the figures.
func measure(ctx context.Context, w io.Writer, chosen []entrant, runs, events, size int) error {
	r, err := newRig(ctx, true)
	if err != nil {
		return err
	}
	defer func() { _ = r.close() }() // the process ends next
	fmt.Fprintf(w, "# %s/%s, %d CPUs, %s, %s, nats-server %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), r.pgVersion, r.natsVersion)
	fmt.Fprintf(w, "# %d events of %d bytes, %d keys, median of %d interleaved runs\n", events, size, keys, runs)
	results := make([][]result, len(chosen))
	for run := range runs {
		list := makeItems(events, size)
		for i, e := range chosen {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s\n", run+1, runs, e.name)
			got, err := r.run(ctx, e, list)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			results[i] = append(results[i], got)
		}
	}
	for i, e := range chosen {
		for _, f := range figuresOf(e.name, results[i], results[0]) {
			f.Print(w)
		}
	}
	return nil
}

// figuresOf makes the figures of a peer from its runs and those of the first one.
func figuresOf(name string, runs, first []result) []*figure.Figure {
	rate := &figure.Figure{Name: "peer_" + name + "_rate", Unit: "events/s"}
	ratio := &figure.Figure{Name: "peer_" + name + "_ratio", Unit: "ratio"}
	cpu := &figure.Figure{Name: "peer_" + name + "_cpu", Unit: "s/1000"}
	disorder := &figure.Figure{Name: "peer_" + name + "_disorder", Unit: "events"}
	for i, got := range runs {
		rate.Add(got.rate)
		ratio.Add(first[i].rate / got.rate)
		cpu.Add(got.cpu)
		disorder.Add(float64(got.disorder))
	}
	if cpu.Median() == 0 {
		return []*figure.Figure{rate, ratio, disorder}
	}
	return []*figure.Figure{rate, ratio, cpu, disorder}
}
