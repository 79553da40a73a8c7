package relay_test

import (
	"syscall"
	"testing"
)

// killProcess ends a process that cannot do anything about it.
func killProcess(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}
