package fault

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a child that ends with us, however we end. Its methods are safe for
// concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has been reaped
	err  error         // how it ended; written before done is closed
}

// StartProcess starts the child. On Linux the kernel ends it together with the thread that
// forked it, so a goroutine keeps that thread for as long as the child lives.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = diesWithUs()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Kill is SIGKILL: the child gets no chance to put anything in order. It returns when the
// child is gone.
func (p *Process) Kill() {
	_ = p.signal(syscall.SIGKILL) // fails only if it has ended
	<-p.done
}

// Pause is SIGSTOP: the child stands still, and its connections stay. A signal takes effect
// after it was sent, so Pause returns when the last thread of the child stands, or it ended.
func (p *Process) Pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil || !p.Running() {
		return err
	}
	return awaitStopped(p.PID())
}

// Resume is SIGCONT: the child goes on as if no time had passed.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Stop is SIGTERM, also for a child that stands still, and SIGKILL when it has not ended by
// the limit. The error says how it ended.
func (p *Process) Stop(limit time.Duration) error {
	if err := errors.Join(p.signal(syscall.SIGTERM), p.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
	return p.err
}

// Done returns a channel that is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the child ended; nil while it runs and after status 0.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return p.err
}

// Running says whether the child has not ended, also when it stands still.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// signal does nothing to a child that has ended.
func (p *Process) signal(sig syscall.Signal) error {
	if !p.Running() {
		return nil
	}
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) { // and is being reaped
		return nil
	}
	return err
}
