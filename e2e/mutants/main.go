package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	only   string
	list   bool
	seeds  int
	seed   uint64
	length time.Duration
}

// result is what became of a mutant.
type result struct {
	Name     string   `json:"name"`
	Caught   bool     `json:"caught"`
	By       []string `json:"by"`             // what it violated
	Expected bool     `json:"expected"`       // and that was among what was expected
	Seed     uint64   `json:"seed,omitempty"` // of chaos
	Seconds  float64  `json:"seconds"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second ctrl-C cuts
	ok, err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	case !ok:
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) (ok bool, err error) {
	var s settings
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.StringVar(&s.only, "run", "", "only mutants whose name contains this, or one of these, separated by commas")
	flags.BoolVar(&s.list, "list", false, "print them and do nothing")
	flags.IntVar(&s.seeds, "seeds", 4, "tries of each, before it has survived")
	flags.Uint64Var(&s.seed, "seed", 1, "the first seed")
	flags.DurationVar(&s.length, "duration", 15*time.Second, "of load and faults in each try")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	all, err := mutants()
	if err != nil {
		return false, err
	}
	var chosen []*mutant
	for _, m := range all {
		if slices.ContainsFunc(strings.Split(s.only, ","), func(part string) bool { return strings.Contains(m.name, part) }) {
			chosen = append(chosen, m)
		}
	}
	if s.list {
		for _, m := range chosen {
			fmt.Fprintf(stdout, "%-28s %s\n%-28s caught by %s\n", m.name, m.what, "", strings.Join(m.caughtBy, ", "))
		}
		return true, nil
	}
	dir, err := os.MkdirTemp("", "holdfast-mutants-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := &laboratory{settings: s, dir: dir, stdout: stdout}
	return l.run(ctx, chosen)
}

// laboratory tries mutants.
type laboratory struct {
	settings
	dir    string
	stdout io.Writer
	tree   *tree
	chaos  string // the binary
}

func (l *laboratory) run(ctx context.Context, chosen []*mutant) (bool, error) {
	var err error
	if l.tree, err = findTree(ctx); err != nil {
		return false, err
	}
	if slices.ContainsFunc(chosen, func(m *mutant) bool { return m.tests == "" }) {
		l.chaos = filepath.Join(l.dir, "chaos")
		if err := l.tree.build(ctx, nil, l.dir, l.chaos, "./e2e/chaos"); err != nil {
			return false, err
		}
		if err := l.control(ctx); err != nil {
			return false, err
		}
	}
	var results []result
	survivors := []string{}
	for _, m := range chosen {
		r, err := l.hunt(ctx, m)
		if err != nil {
			return false, fmt.Errorf("mutant %s: %w", m.name, err)
		}
		if !r.Caught {
			survivors = append(survivors, m.name)
		}
		results = append(results, r)
		fmt.Fprintf(l.stdout, "mutant %-28s %s\n", m.name, r)
	}
	line, err := json.Marshal(map[string]any{"mutants": len(results), "survivors": survivors, "results": results})
	if err != nil {
		return false, err
	}
	fmt.Fprintf(l.stdout, "MUTANTS %s\n", line)
	return len(survivors) == 0, nil
}

// control runs the relay as it is, which must be clean.
func (l *laboratory) control(ctx context.Context) error {
	relay := filepath.Join(l.dir, "relay")
	if err := l.tree.build(ctx, unchanged(), l.dir, relay, "./cmd/relay"); err != nil {
		return err
	}
	for i := range l.seeds {
		violated, err := try(ctx, l.chaos, relay, "", unchanged(), l.seed+uint64(i), l.length)
		if err != nil {
			return err
		}
		if len(violated) > 0 {
			return fmt.Errorf("the relay without a mutation violates %s with seed %d: nothing would be proven", strings.Join(violated, ", "), l.seed+uint64(i))
		}
	}
	fmt.Fprintf(l.stdout, "mutant %-28s clean with %d seeds\n", "(none)", l.seeds)
	return nil
}

// hunt tries a mutant until it is caught by what is expected to, or the seeds are used up.
func (l *laboratory) hunt(ctx context.Context, m *mutant) (result, error) {
	began := time.Now()
	r := result{Name: m.name}
	dir := filepath.Join(l.dir, m.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return r, err
	}
	if m.tests != "" {
		broken, err := l.tree.suite(ctx, m, dir)
		if err != nil {
			return r, err
		}
		r.Caught, r.By, r.Expected = len(broken) > 0, broken, m.expected(broken)
		r.Seconds = time.Since(began).Seconds()
		return r, os.RemoveAll(dir)
	}
	relay := filepath.Join(dir, "relay")
	if err := l.tree.build(ctx, m, dir, relay, "./cmd/relay"); err != nil {
		return r, err
	}
	consumer := "" // that of chaos
	if m.isConsumer() {
		consumer = filepath.Join(dir, "consumer")
		if err := l.tree.build(ctx, m, dir, consumer, "./e2e/chaos"); err != nil {
			return r, err
		}
	}
	for i := range l.seeds {
		r.Seed = l.seed + uint64(i)
		violated, err := try(ctx, l.chaos, relay, consumer, m, r.Seed, l.length)
		if err != nil {
			return r, err
		}
		if len(violated) > 0 {
			r.Caught, r.By, r.Expected = true, violated, m.expected(violated)
			break
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, os.RemoveAll(dir)
}

func (r result) String() string {
	if !r.Caught {
		return fmt.Sprintf("SURVIVED (%.0f s)", r.Seconds)
	}
	note := ""
	if !r.Expected {
		note = ", which was not expected"
	}
	seed := ""
	if r.Seed > 0 {
		seed = fmt.Sprintf("seed %d, ", r.Seed)
	}
	return fmt.Sprintf("caught by %s%s (%s%.0f s)", strings.Join(r.By, ", "), note, seed, r.Seconds)
}
