//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sweep

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps other runs from the file until it is closed, or the process ends, however it ends.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return refuse(ErrBusy, "Wait for the other run: it does the same.", "it writes this results file")
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}
