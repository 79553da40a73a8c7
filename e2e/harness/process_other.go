//go:build !linux

package harness

import (
	"syscall"

	"github.com/holdfast-dev/holdfast/e2e/child"
)

// childAttr runs a child as the account. Without a parent-death signal the
// child stays in our process group, so that at least ctrl-C at a terminal ends
// both.
func childAttr(a *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.credential()}
}

// killChildren leaves the children to notice the end of their parent by
// themselves.
func killChildren(*child.Process) {}
