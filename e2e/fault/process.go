package fault

import (
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

// Process is a child that ends with us, however we end. Its methods are safe for
// concurrent use.
type Process struct{ *child.Process }

// StartProcess starts the child.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = diesWithUs()
	p, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &Process{p}, nil
}

// Pause is SIGSTOP: the child stands still, and its connections stay. A signal takes effect
// after it was sent, so Pause returns when the last thread of the child stands, or it ended.
func (p *Process) Pause() error {
	if err := p.Signal(syscall.SIGSTOP); err != nil || !p.Running() {
		return err
	}
	return awaitStopped(p.PID())
}

// Resume is SIGCONT: the child goes on as if no time had passed.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Stop is SIGTERM, also for a child that stands still, and SIGKILL when it has not ended by
// the limit. The error says how it ended.
func (p *Process) Stop(limit time.Duration) error {
	if err := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT)); err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		p.Kill()
	}
	return p.Err()
}
