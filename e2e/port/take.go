package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
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
	claims []net.Listener
}

// Take returns a port on which nothing listens and that no other process holds. It stays this
// process's until it ends. Safe for concurrent use.
func Take() (int, error) {
	for range tries {
		port := First + rand.IntN(Last-First)
		claim, ok := claim(port)
		if !ok {
			continue // another process's, or ours already
		}
		if Busy(port) {
			_ = claim.Close() // somebody has it who does not ask here
			continue
		}
		held.Lock()
		held.claims = append(held.claims, claim)
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

// claim claims a port on this machine. It returns false when somebody has, which may be this process. A
// name in the abstract namespace of Linux leaves nothing behind; elsewhere nobody claims.
func claim(port int) (net.Listener, bool) {
	if runtime.GOOS != "linux" {
		return noClaim{}, true
	}
	l, err := net.Listen("unix", fmt.Sprintf("@holdfast-port-%d", port))
	return l, err == nil
}

// noClaim is a claim that nobody sees.
type noClaim struct{ net.Listener }

// Close does nothing.
func (noClaim) Close() error { return nil }
