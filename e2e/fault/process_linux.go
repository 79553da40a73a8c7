package fault

import "syscall"

// diesWithUs has the kernel end the child when we end. With that, the child gets a process
// group of its own, so that ctrl-C reaches us alone and things end in our order.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
