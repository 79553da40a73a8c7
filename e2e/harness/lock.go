package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const pollInterval = 5 * time.Millisecond

// lockFile takes an exclusive lock on an existing file or directory. It polls,
// because a blocking flock can't be interrupted. The lock goes when unlock is
// called, or with this process.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		f, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() { _ = f.Close() }, nil
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// tryLock returns the locked file, or nil when another process holds it. The
// descriptor is closed on exec, so no child keeps the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// pause waits one polling interval, or returns why ctx ended.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
