package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

const freezeLimit = time.Second

// childAttr runs a child as the account. SIGQUIT is Postgres's immediate
// shutdown: when we are killed, the server stops at once, with all its
// processes, and frees its shared memory, which SIGKILL would not. With the
// kernel seeing to that, the child gets a process group of its own, so that
// ctrl-C at a terminal reaches us alone and we stop things in our order.
func childAttr(a *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.credential(), Pdeathsig: syscall.SIGQUIT, Setpgid: true}
}

// killChildren ends the children of a process that is about to be killed. The
// parent is stopped first, so that it makes no new ones and, because it doesn't
// reap those that end, no process id in the list can come to mean another one.
func killChildren(parent *child.Process) {
	if parent.Signal(syscall.SIGSTOP) != nil {
		return
	}
	pid := parent.PID()
	deadline := time.Now().Add(freezeLimit)
	for state, _ := statOf(pid); state != "T" && parent.Running() && time.Now().Before(deadline); state, _ = statOf(pid) {
		time.Sleep(time.Millisecond)
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if _, of := statOf(child); of == pid {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
}

// statOf returns the state and the parent of a process; of none, nothing.
func statOf(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The command, in parentheses, may itself contain any character.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
