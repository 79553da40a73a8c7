//go:build linux && (amd64 || arm64)

package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const ipcRemove = 0 // IPC_RMID

// removeSegment removes the System V shared memory of a cluster that was killed
// and will not start again; nobody else would, and a machine has room for some
// thousands. The seventh line of postmaster.pid, which a server that stopped in
// order has removed, holds its key and its id; the first one says whose it is.
func removeSegment(dataDir string, postmaster int) {
	content, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return
	}
	lines := strings.Split(string(content), "\n")
	if len(lines) < 7 || lines[0] != strconv.Itoa(postmaster) {
		return
	}
	fields := strings.Fields(lines[6])
	if len(fields) != 2 {
		return
	}
	if id, err := strconv.Atoi(fields[1]); err == nil {
		_, _, _ = syscall.Syscall(syscall.SYS_SHMCTL, uintptr(id), ipcRemove, 0)
	}
}
