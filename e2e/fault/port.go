package fault

import (
	"net"

	"github.com/holdfast-dev/holdfast/e2e/port"
)

// freePort returns a loopback port that is this process's until it ends.
func freePort() (int, error) { return port.Take() }

// listenLoopback listens on a port that the kernel chooses.
func listenLoopback() (net.Listener, error) { return net.Listen("tcp", joinPort(0)) }
