//go:build !linux || !(amd64 || arm64)

package harness

// removeSegment leaves the 56 bytes of shared memory of a killed cluster to the
// next restart of the machine.
func removeSegment(string, int) {}
