// Package port gives loopback ports to the servers of tests. A port is this process's until it
// ends, also while the server on it is stopped: every test binary on the machine takes its
// ports here, and takes none that another holds.
//
// The claim is a name that this process listens on, which ends with the process however it
// ends and leaves nothing behind.
package port
