package harness

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a child process with an owner: the goroutine that forked it and
// waits for it.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed by the owner when the child has been reaped
	err  error         // how it ended; written before done is closed
}

// startProcess starts the child. The kernel binds the parent-death signal to
// the thread that forked, not to the process, so the owner keeps its thread for
// itself until the child has ended.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
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

// signal sends sig, unless the child has ended.
func (p *process) signal(sig os.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	err := p.cmd.Process.Signal(sig)
	if err == os.ErrProcessDone { // it ended since; the owner is reaping it
		return nil
	}
	return err
}

// kill ends the child and returns when it has been reaped.
func (p *process) kill() {
	_ = p.signal(os.Kill)
	<-p.done
}

func (p *process) running() bool {
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
