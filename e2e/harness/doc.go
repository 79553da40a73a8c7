// Package harness runs the real servers that Holdfast is tested, demonstrated
// and measured with: a private Postgres cluster, a NATS server with
// JetStream inside the process, and pgbouncer in front of a cluster.
//
// # What it promises
//
//   - The servers listen on loopback only, on a free port outside the range
//     that the kernel uses for outgoing connections, and keep that port over
//     Stop and Start.
//   - Postgres runs as an unprivileged user even when the process is root.
//   - Data lives in a new directory, removed by Close. What a process that was
//     killed left behind is removed by a later one.
//   - On Linux, Postgres and pgbouncer end when the process that started them
//     ends, however that happened. On other systems Close must be called.
//   - A server that can't start says why: the error carries the end of its log,
//     or a Hint when a person must do something.
//
// # What it never does
//
// It never touches a Postgres cluster that it didn't make, never listens on a
// public address, and never falls back to something else when a server is
// missing. The one thing it changes on a machine is to install the Debian
// package postgresql, when it runs as root on Debian and finds no Postgres at
// all; it says so, and no cluster is created by that package. A pgbouncer
// must be there: tests that need one have the build tag pooler.
//
// # States of a server
//
//	         Start              Stop, Kill, crash
//	(new) ----------> running --------------------> stopped
//	                     ^                             |
//	                     +------------ Start ----------+
//	                     any state -- Close --> closed (terminal)
//
// # Where the data is
//
// A cluster is a thousand small files, and so is every few databases; some file
// systems take seconds to make them. On Linux a cluster that need not be durable
// is therefore kept in memory (/dev/shm), if 4 GiB are free there and of the
// memory that this process may use. Set TMPDIR to have it elsewhere.
//
// Every connection is trusted, so this is not a way to run a database that
// anyone else can reach. Linux and macOS are supported. Nothing here needs the
// testing package; package outboxtest builds on it for tests.
package harness
