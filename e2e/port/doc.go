// Package port gives loopback ports to the servers of tests. A port is this process's until it
// ends, also while the server on it is stopped: every test binary on the machine takes its
// ports here, and takes none that another holds.
//
// The claim is a lock on a file in the temporary directory, which ends with the process
// however it ends. The files stay and are empty.
package port
