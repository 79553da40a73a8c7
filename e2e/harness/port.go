package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports come from below the range that Linux and macOS use for outgoing
// connections. In that range a stopped server could find its port taken when
// it starts again: by any connection of this machine, or by a client that
// connects to the very port that it was given as its own.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 100
)

const loopback = "127.0.0.1"

// freePort returns a loopback port on which nothing listens. Another process
// may take it before the caller does; callers retry with another one.
func freePort() (int, error) {
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if !portBusy(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: %d ports between %d and %d are all in use", portTries, firstPort, lastPort)
}

func portBusy(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err == nil {
		_ = l.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}
