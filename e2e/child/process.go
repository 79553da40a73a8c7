package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// Process is a child with an owner. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed by the owner when the child has been reaped
	err  error         // how it ended; written before done is closed
}

// Start starts the child. The owner keeps its thread for itself until the child has ended.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
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

// Done returns a channel that is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the child ended; nil while it runs and after status 0.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return p.err
}

// Running says whether the child has not ended, also when it stands still. One that was never
// started, nil, does not run.
func (p *Process) Running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal does nothing to a child that has ended.
func (p *Process) Signal(sig os.Signal) error {
	if !p.Running() {
		return nil
	}
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) { // and is being reaped
		return nil
	}
	return err
}

// Kill is SIGKILL: the child gets no chance to put anything in order. It returns when the
// child is gone.
func (p *Process) Kill() {
	_ = p.Signal(os.Kill) // fails only if it has ended
	<-p.done
}
