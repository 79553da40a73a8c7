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
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/relay"
)

// Exit codes, by the conventions of the relay's command line.
const (
	exitOK          = 0
	exitNo          = 1 // something was violated, or it could not run
	exitUsage       = 2
	exitInterrupted = 130
)

// setup is what the relays publish to.
type setup string

const (
	single  setup = "single"  // one nats-server
	cluster setup = "cluster" // three nodes, and a stream with three replicas
)

// stream makes the schedules of the set-ups differ.
func (s setup) stream() uint64 {
	if s == cluster {
		return 2
	}
	return 1
}

// settings are the flags.
type settings struct {
	seed     uint64
	duration time.Duration
	setup    string
	relay    string
	consumer string
	only     string
	within   time.Duration
	window   time.Duration
	// publisher is that of the relays. With auto the single server's stream allows fast batches and the
	// cluster's does not.
	publisher relay.PublisherKind
	race      bool
	plan      bool
	verbose   bool
}

func (s settings) setups() []setup {
	switch s.setup {
	case string(single):
		return []setup{single}
	case string(cluster):
		return []setup{cluster}
	default:
		return []setup{single, cluster}
	}
}

// kinds are the faults that -only names; none means all.
func (s settings) kinds() []Kind {
	var list []Kind
	for name := range strings.SplitSeq(s.only, ",") {
		if name != "" {
			list = append(list, Kind(name))
		}
	}
	return list
}

func main() {
	if fault.IsNode() {
		os.Exit(fault.RunNode())
	}
	if isConsumer() {
		os.Exit(runConsumer(os.Stderr))
	}
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
	length := set.duration / time.Duration(len(set.setups()))
	if set.plan {
		for _, s := range set.setups() {
			for _, step := range plan(set.seed, s, length, set.kinds()) {
				fmt.Fprintln(stdout, s, step)
			}
		}
		return exitOK
	}
	fmt.Fprintf(stderr, "chaos: seed %d; repeat with: make chaos SEED=%d DURATION=%s\n", set.seed, set.seed, set.duration)
	result := newResult(set)
	for _, s := range set.setups() {
		r := &trial{settings: set, setup: s, length: length, log: stderr}
		if err := r.run(ctx, result); err != nil {
			if ctx.Err() != nil {
				fmt.Fprintln(stderr, "chaos: interrupted; everything that it started has ended")
				return exitInterrupted
			}
			fmt.Fprintf(stderr, "chaos: %s: %v\n", s, err)
			result.OK, result.Error = false, fmt.Sprintf("%s: it could not be judged", s)
			break
		}
	}
	if err := result.print(stdout); err != nil {
		fmt.Fprintln(stderr, "chaos:", err)
		return exitNo
	}
	if !result.OK {
		return exitNo
	}
	return exitOK
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&s.seed, "seed", 0, "of the schedule and the load; 0 takes a fresh one, and it is printed")
	flags.DurationVar(&s.duration, "duration", time.Minute, "of load and faults, shared by the set-ups")
	flags.StringVar(&s.setup, "setup", "both", "single, cluster or both")
	flags.StringVar(&s.relay, "relay", "", "the relay's binary; built from this repository by default")
	flags.StringVar(&s.consumer, "consumer", "", "a build of this command whose consumers are run; this one by default")
	flags.StringVar(&s.only, "only", "", "kinds of faults, separated by commas; all by default")
	flags.DurationVar(&s.within, "within", time.Minute, "how long nothing may arrive after the last fault, while something waits")
	flags.DurationVar(&s.window, "window", 2*time.Minute, "the stream's dedup window; a short one shows second copies that it would hide")
	flags.TextVar(&s.publisher, "publisher", relay.PublisherAuto, "of the relays: auto, async or fast; with auto the stream of the single server allows batches, that of the cluster does not")
	flags.BoolVar(&s.race, "race", false, "build the relay with the race detector")
	flags.BoolVar(&s.plan, "plan", false, "print the schedule and do nothing")
	flags.BoolVar(&s.verbose, "v", false, "print each fault when it begins")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.seed == 0 {
		s.seed = rand.Uint64N(1e9) + 1
	}
	known := s.setup == string(single) || s.setup == string(cluster) || s.setup == "both"
	for _, kind := range s.kinds() {
		known = known && isKind(kind)
	}
	if flags.NArg() > 0 || s.duration < time.Second || !known {
		fmt.Fprintln(stderr, "chaos: takes flags only, -duration of at least 1s, -setup single, cluster or both, -only kinds that there are")
		return s, errors.New("usage")
	}
	return s, nil
}
