package harness

import "github.com/holdfast-dev/holdfast/e2e/port"

const loopback = port.Loopback

// freePort returns a loopback port that is this process's until it ends.
func freePort() (int, error) { return port.Take() }

func portBusy(n int) bool { return port.Busy(n) }
