package harness

import "syscall"

// childAttr runs a child as the account. SIGQUIT is Postgres's immediate
// shutdown: when we are killed, the server stops at once, with all its
// processes, and frees its shared memory, which SIGKILL would not. With the
// kernel seeing to that, the child gets a process group of its own, so that
// ctrl-C at a terminal reaches us alone and we stop things in our order.
func childAttr(a *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.credential(), Pdeathsig: syscall.SIGQUIT, Setpgid: true}
}
