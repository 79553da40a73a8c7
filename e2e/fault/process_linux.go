package fault

import (
	"os"
	"syscall"
)

// pidOfOne is P_PID of waitid(2), which package syscall does not name.
const pidOfOne = 1

// diesWithUs has the kernel end the child when we end. With that, the child gets a process
// group of its own, so that ctrl-C reaches us alone and things end in our order.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// awaitStopped returns when the kernel reports that all threads of a child stand, or that it
// ended. It leaves the report where it is, also for the Wait that reaps the child.
func awaitStopped(pid int) error {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pidOfOne, uintptr(pid), 0,
			syscall.WSTOPPED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		switch errno {
		case 0, syscall.ECHILD: // ECHILD: it ended and has been reaped
			return nil
		case syscall.EINTR:
		default:
			return os.NewSyscallError("waitid", errno)
		}
	}
}
