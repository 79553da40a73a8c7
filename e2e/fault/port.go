package fault

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that must still be free after a restart come from below the range that the kernel
// uses for outgoing connections. See package harness, which takes its own from 20000 on.
const (
	firstPort = 12000
	lastPort  = 19999
	portTries = 100
)

// freePort returns a loopback port on which nothing listens.
func freePort() (int, error) {
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", joinPort(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %d ports between %d and %d are all in use", portTries, firstPort, lastPort)
}

// listenLoopback listens on a port that the kernel chooses.
func listenLoopback() (net.Listener, error) { return net.Listen("tcp", joinPort(0)) }
