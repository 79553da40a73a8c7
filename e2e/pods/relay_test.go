package pods_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
	"github.com/holdfast-dev/holdfast/e2e/history"
)

// relay is a relay process, behind a proxy of its own that records what it publishes.
type relay struct {
	s    *site
	name string
	log  string
	env  []string
	proc *fault.Process
	nats *fault.NATSProxy
}

// start starts a relay under a name that none had before. Settings are NAME=value.
func (s *site) start(name string, settings ...string) *relay {
	s.t.Helper()
	proxy, err := fault.NewNATSProxy(s.nats.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	proxy.Observe(func(e fault.NATSEvent) {
		if !e.Ack {
			s.record.Publication(history.Publication{At: e.At, Relay: name, MessageID: e.ID})
			return
		}
		s.record.Ack(history.Ack{At: e.At, Relay: name, MessageID: e.ID, Sequence: e.Sequence, Duplicate: e.Duplicate, Code: e.Code, Delivered: e.Delivered, Forged: e.Forged})
	})
	r := &relay{s: s, name: name, nats: proxy, log: filepath.Join(s.t.TempDir(), name+".log")}
	r.env = append(environment(),
		"RELAY_DATABASE_URL="+s.db.URL+separator(s.db.URL)+"application_name="+name, "RELAY_NATS_URL="+proxy.URL(), "RELAY_STREAM="+streamName,
		"RELAY_OWNER="+name, "RELAY_HTTP_ADDR=127.0.0.1:0", "RELAY_LEASE=3s", "RELAY_POLL_MAX=20ms", "RELAY_BATCH_SIZE=5", "RELAY_WORKERS=4",
		"RELAY_ACK_TIMEOUT=20s", "RELAY_RETRY_MIN=20ms", "RELAY_RETRY_MAX=200ms", "RELAY_REFUSED_RETRIES=100000",
		"RELAY_REFUSED_PAUSE_MIN=20ms", "RELAY_REFUSED_PAUSE_MAX=100ms", "RELAY_ALLOW=dedup-window,message-size")
	r.env = append(r.env, settings...)
	log, err := os.Create(r.log)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(s.binary, "run")
	cmd.Env, cmd.Stdout, cmd.Stderr = r.env, log, log
	r.proc, err = fault.StartProcess(cmd)
	if err := errors.Join(err, log.Close()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		r.proc.Kill()
		if err := proxy.Close(); err != nil {
			s.t.Errorf("close the proxy of %s: %v", name, err)
		}
		if s.t.Failed() {
			s.t.Logf("relay %s (%v) logged:\n%s", name, r.proc.Err(), r.said())
		}
	})
	return r
}

// environment is ours, without what is about relays and servers.
func environment() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RELAY_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "NATS_") && !strings.HasPrefix(variable, "HOLDFAST_C") {
			env = append(env, variable)
		}
	}
	return env
}

func separator(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}

func (r *relay) said() string {
	r.s.t.Helper()
	text, err := os.ReadFile(r.log)
	if err != nil {
		r.s.t.Fatal(err)
	}
	return string(text)
}

// reaches waits until the relay says that it is at a point.
func (r *relay) reaches(point string) {
	r.s.t.Helper()
	r.s.eventually(r.name+" reaches "+point, func() bool {
		if !r.proc.Running() && !strings.Contains(r.said(), "crash point "+point) {
			r.s.t.Fatalf("%s ended without reaching %s: %v", r.name, point, r.proc.Err())
		}
		return strings.Contains(r.said(), "crash point "+point)
	})
}

// dies waits until the relay has died at a point, and until the broker knows of nothing more
// that it sent.
func (r *relay) dies(point string) {
	r.s.t.Helper()
	r.reaches(point)
	select {
	case <-r.proc.Done():
	case <-time.After(within):
		r.s.t.Fatalf("%s lives at %s", r.name, point)
	}
	r.s.eventually("its connections are gone", func() bool { return r.nats.Connections() == 0 })
	var exited *exec.ExitError
	if err := r.proc.Err(); !errors.As(err, &exited) || exited.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		r.s.t.Fatalf("%s ended with %v, it should be killed at %s", r.name, err, point)
	}
}

// stop stops the relay as a rolling update does; it must end cleanly.
func (r *relay) stop() {
	r.s.t.Helper()
	if !r.proc.Running() {
		r.s.t.Fatalf("%s has ended by itself: %v", r.name, r.proc.Err())
	}
	if err := r.proc.Stop(within); err != nil {
		r.s.t.Errorf("%s ended with %v", r.name, err)
	}
}

// ask runs another command of the same binary with the same settings.
func (r *relay) ask(args ...string) string {
	r.s.t.Helper()
	cmd := exec.CommandContext(r.s.t.Context(), r.s.binary, args...)
	cmd.Env = r.env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) { // a status other than 0 may be the answer
		r.s.t.Fatalf("relay %v: %v\n%s", args, err, complaint.String())
	}
	return string(text)
}
