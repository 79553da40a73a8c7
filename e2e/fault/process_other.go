//go:build !linux

package fault

import "syscall"

// diesWithUs leaves the child in our process group, so that ctrl-C at a terminal ends both.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// awaitStopped does nothing here: the signal takes effect a little later.
func awaitStopped(int) error { return nil }
