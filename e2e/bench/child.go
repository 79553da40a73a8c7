package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// child is the relay's own program as a process, so that its memory and its processor time
// can be told from everybody else's.
type child struct{ *fault.Process }

// build builds the relay's program, once.
func (r *rig) build(ctx context.Context) error {
	r.building.Do(func() {
		if r.dir, r.buildErr = os.MkdirTemp("", "holdfast-bench-"); r.buildErr != nil {
			return
		}
		r.program = filepath.Join(r.dir, "relay")
		build := exec.CommandContext(ctx, "go", "build", "-o", r.program, "github.com/holdfast-dev/holdfast/cmd/relay")
		if out, err := build.CombinedOutput(); err != nil {
			r.buildErr = fmt.Errorf("build the relay: %w\n%s", err, out)
		}
	})
	return r.buildErr
}

// startChild runs the program with its default settings.
func (r *rig) startChild(ctx context.Context, databaseURL string, settings ...string) (*child, error) {
	if err := r.build(ctx); err != nil {
		return nil, err
	}
	cmd := exec.Command(r.program, "run")
	cmd.Env = append(os.Environ(), append([]string{
		"RELAY_DATABASE_URL=" + databaseURL, "RELAY_NATS_URL=" + r.nats.URL(), "RELAY_STREAM=" + r.stream,
		"RELAY_HTTP_ADDR=127.0.0.1:0", "RELAY_LOG_LEVEL=error", "RELAY_ALLOW=replicas,sync",
	}, settings...)...)
	cmd.Stderr = os.Stderr
	p, err := fault.StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	return &child{p}, nil
}

// errEnded says why a measurement does not come to its end; the relay has said the rest.
var errEnded = errors.New("a relay ended before its work was done")

// whileRunning ends when one of the children does, so that nobody waits for its work.
func whileRunning(ctx context.Context, children ...*child) (context.Context, context.CancelFunc) {
	running, stop := context.WithCancelCause(ctx)
	for _, c := range children {
		go func() {
			select {
			case <-c.Done():
				stop(errors.Join(errEnded, c.Err()))
			case <-running.Done():
			}
		}()
	}
	return running, func() { stop(nil) }
}

// end stops the relay as a supervisor would.
func (c *child) end() error {
	if err := c.Stop(30 * time.Second); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

// What a process has resident, as the system names it.
const (
	memoryNow  = "VmRSS:"
	memoryPeak = "VmHWM:" // the most that it has had
)

// memory returns what the process has resident, in mebibytes.
func (c *child) memory(which string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, which); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("the system does not tell the memory of a process")
}

// cpu returns the processor time that the process has used.
func (c *child) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the system does not tell the time of a process")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100), err
}

// drainedBy is what processes gave that drained a database. Their start is not in it: it begins when the
// first settled events are seen.
type drainedBy struct {
	from, to time.Time
	events   int     // settled in between
	peakMiB  float64 // the most memory that one of the processes has had
}

// rate returns events a second.
func (d drainedBy) rate() float64 { return float64(d.events) / d.to.Sub(d.from).Seconds() }

// drainWithChildren lets several processes drain n events.
func (r *rig) drainWithChildren(ctx context.Context, pool *pgxpool.Pool, n, processes int) (got drainedBy, err error) {
	if err := r.build(ctx); err != nil {
		return got, err
	}
	already, err := settled(ctx, pool)
	if err != nil {
		return got, err
	}
	var children []*child
	defer func() {
		for _, c := range children {
			if endErr := c.end(); err == nil {
				err = endErr
			}
		}
	}()
	got.from, got.events = time.Now(), n
	for range processes {
		c, err := r.startChild(ctx, pool.Config().ConnString())
		if err != nil {
			return got, err
		}
		children = append(children, c)
	}
	running, stop := whileRunning(ctx, children...)
	defer stop()
	if err := r.untilSettled(running, pool, already+1); err != nil {
		return got, err
	}
	first, err := settled(ctx, pool)
	if err != nil {
		return got, err
	}
	if first < already+n { // else it was so little that only the start can be seen
		got.from, got.events = time.Now(), already+n-first
	}
	if err := r.untilSettled(running, pool, already+n); err != nil {
		return got, err
	}
	got.to = time.Now()
	for _, c := range children {
		mib, err := c.memory(memoryPeak)
		if err != nil {
			return got, err
		}
		got.peakMiB = max(got.peakMiB, mib)
	}
	return got, nil
}
