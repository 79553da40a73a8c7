package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// process is a service as a pod would run it.
type process struct {
	s    *site
	name string
	log  string
	proc *fault.Process
}

// start starts a service under a name that none had before, from the test binary.
func (s *site) start(name, service string) *process {
	return s.startFrom(os.Args[0], name, service, childEnv+"=1")
}

// startFrom starts a service from a binary. Settings are NAME=value.
func (s *site) startFrom(binary, name, service string, settings ...string) *process {
	s.t.Helper()
	p := &process{s: s, name: name, log: filepath.Join(s.t.TempDir(), name+".log")}
	log, err := os.Create(p.log)
	if err != nil {
		s.t.Fatal(err)
	}
	url, more := s.db.URL, "?"
	if strings.Contains(url, "?") {
		more = "&"
	}
	args := append([]string{service, "-quick", "-stream", streamName, "-nats", s.nats.URL(), "-database", url + more + "application_name=" + name}, s.service...)
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), settings...), log, log
	p.proc, err = fault.StartProcess(cmd)
	if err := errors.Join(err, log.Close()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		p.proc.Kill()
		if s.t.Failed() {
			s.t.Logf("%s (%v) logged:\n%s", name, p.proc.Err(), p.said())
		}
	})
	return p
}

func (p *process) said() string {
	p.s.t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.s.t.Fatal(err)
	}
	return string(text)
}

// dies waits until the process has died at a point, and until the database knows.
func (p *process) dies(point string) {
	p.s.t.Helper()
	p.s.eventually(p.name+" dies at "+point, func() bool { return !p.proc.Running() })
	var exited *exec.ExitError
	err := p.proc.Err()
	if !errors.As(err, &exited) || exited.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || !strings.Contains(p.said(), "crash point "+point+"\n") {
		p.s.t.Fatalf("%s ended with %v, it should be killed at %s", p.name, err, point)
	}
	p.s.eventually("its sessions are gone", func() bool {
		return query[int](p.s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", p.name) == 0
	})
}

// stop stops the process as a rolling update does; it must end cleanly.
func (p *process) stop() {
	p.s.t.Helper()
	if !p.proc.Running() {
		p.s.t.Fatalf("%s has ended by itself: %v", p.name, p.proc.Err())
	}
	if err := p.proc.Stop(patience); err != nil {
		p.s.t.Errorf("%s ended with %v", p.name, err)
	}
}
