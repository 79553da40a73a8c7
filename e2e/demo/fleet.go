package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/relay"
)

const (
	// lease is shorter than the relay's default, so that a takeover can be watched.
	lease = 3 * time.Second

	readyLimit    = time.Minute      // for a relay to own its lanes
	takeoverLimit = time.Minute      // for the others to own those of a dead one
	stopLimit     = 15 * time.Second // longer than a relay takes to stop
)

// fleet is the relay processes that drain the shop's outbox.
type fleet struct {
	*servers
	pods  []*pod
	kills int
}

// pod is one relay process.
type pod struct {
	*fault.Process
	name string
	log  string // path
}

var listens = regexp.MustCompile(`http server listens.* addr=(\S+)`)

// address returns where its HTTP endpoints are, on a port that it chose itself.
func (p *pod) address() string {
	log, err := os.ReadFile(p.log)
	if match := listens.FindSubmatch(log); match != nil && err == nil {
		return string(match[1])
	}
	return "see-the-log"
}

// relayVariables tell a relay where its database and its stream are.
func (s *servers) relayVariables() []string {
	return []string{
		"RELAY_DATABASE_URL=" + s.pg.URL(database),
		"RELAY_NATS_URL=" + s.nats.URL(),
		"RELAY_STREAM=" + stream,
	}
}

// environment is ours with the relay's variables. What ours says about relays is not
// meant for these.
func (s *servers) environment() []string {
	env := s.relayVariables()
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RELAY_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "NATS_") {
			env = append(env, variable)
		}
	}
	return env
}

// applyStream makes the stream, as an operator does.
func (s *servers) applyStream(ctx context.Context) error {
	apply := exec.CommandContext(ctx, s.relay, "stream", "apply", "--yes")
	apply.Env = s.environment()
	if output, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("relay stream apply: %w\n%s", err, output)
	}
	return nil
}

// start starts one more relay.
func (f *fleet) start() (*pod, error) {
	p := &pod{name: fmt.Sprintf("relay-%d", len(f.pods)+1)}
	p.log = filepath.Join(f.dir, p.name+".log")
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd := exec.Command(f.relay, "run")
	cmd.Env = append(f.environment(), "RELAY_OWNER="+p.name, "RELAY_LEASE="+lease.String(), "RELAY_HTTP_ADDR=127.0.0.1:0")
	cmd.Stderr = log
	if p.Process, err = fault.StartProcess(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	f.pods = append(f.pods, p)
	return p, nil
}

// kill ends a relay with SIGKILL and returns how many lanes it had.
func (f *fleet) kill(ctx context.Context, p *pod) (lanes int, err error) {
	owned, err := f.lanes(ctx)
	if err != nil {
		return 0, err
	}
	p.Kill()
	f.kills++
	return owned[p.name], nil
}

// lanes returns how many lanes each live relay owns; "" for those that nobody drains.
func (f *fleet) lanes(ctx context.Context) (map[string]int, error) {
	status, err := relay.ReadStatus(ctx, f.db, "outbox", "default")
	if err != nil {
		return nil, err
	}
	owned := map[string]int{}
	for _, lane := range status.Lanes {
		if lane.Live {
			owned[lane.Owner]++
		} else {
			owned[""]++
		}
	}
	return owned, nil
}

// awaitOwners waits until the relays that run own all lanes, and each has some.
func (f *fleet) awaitOwners(ctx context.Context, limit time.Duration) error {
	return until(ctx, limit, "the relays own all lanes", func(ctx context.Context) (bool, error) {
		if err := f.check(); err != nil {
			return false, err
		}
		owned, err := f.lanes(ctx)
		running := 0
		for _, p := range f.pods {
			if p.Running() {
				running++
				if owned[p.name] == 0 {
					return false, err
				}
			}
		}
		return len(owned) == running, err // nobody else, and not nobody
	})
}

// check returns an error if a relay has ended that was not killed.
func (f *fleet) check() error {
	ended := -f.kills
	for _, p := range f.pods {
		if !p.Running() {
			ended++
		}
	}
	if ended == 0 {
		return nil
	}
	return errors.New("a relay has ended by itself" + f.logTails())
}

// stop ends all relays as a rolling update does. A relay that does not end cleanly is an
// error.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range f.pods {
		if !p.Running() {
			continue
		}
		if err := p.Stop(stopLimit); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w%s", p.name, err, f.logTails()))
		}
	}
	return errors.Join(errs...)
}

// logTails returns the end of what each relay logged.
func (f *fleet) logTails() string {
	const lines = 10
	var b strings.Builder
	for _, p := range f.pods {
		log, err := os.ReadFile(p.log)
		if err != nil {
			log = []byte(err.Error())
		}
		all := strings.Split(strings.TrimSpace(string(log)), "\n")
		fmt.Fprintf(&b, "\n%s logged last:\n  %s", p.name, strings.Join(all[max(0, len(all)-lines):], "\n  "))
	}
	return b.String()
}
