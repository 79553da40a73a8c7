package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports come from below the range that Linux and macOS use for outgoing connections. In that
// range a stopped server could find its port taken when it starts again: by any connection of
// this machine, or by a client that connects to the very port that it was given as its own.
const (
	First = 12000
	Last  = 32000
	tries = 1000
)

// Loopback is the address of all ports.
const Loopback = "127.0.0.1"

// held keeps the claims of this process open.
var held struct {
	sync.Mutex
	files []*os.File
}

// Take returns a port on which nothing listens and that no other process holds. It stays this
// process's until it ends. Safe for concurrent use.
func Take() (int, error) {
	dir := filepath.Join(os.TempDir(), "holdfast-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, err
	}
	for range tries {
		port := First + rand.IntN(Last-First)
		claim, err := claim(filepath.Join(dir, strconv.Itoa(port)))
		if err != nil {
			return 0, fmt.Errorf("claim port %d: %w", port, err)
		}
		if claim == nil {
			continue
		}
		if Busy(port) {
			_ = claim.Close() // somebody who does not ask here
			continue
		}
		held.Lock()
		held.files = append(held.files, claim)
		held.Unlock()
		return port, nil
	}
	return 0, fmt.Errorf("find a free port: %d ports between %d and %d are all in use", tries, First, Last)
}

// Busy reports whether something listens on a port.
func Busy(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(Loopback, strconv.Itoa(port)))
	if err == nil {
		_ = l.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

// claim returns the locked file, or nil when somebody holds it, which may be this process. The
// descriptor is closed on exec, so no child keeps the claim.
func claim(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o666)
	if errors.Is(err, os.ErrPermission) {
		return nil, nil // made by another user
	}
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
	return nil, err
}
