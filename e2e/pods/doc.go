// Package pods proves what must hold when a relay process dies at a named point, or when the
// clocks of pods are wrong. It holds tests only: real processes of cmd/relay, a real Postgres,
// a real nats-server, and package history to judge what happened.
//
// # A crash point
//
// is a file in points/: what is true when the process dies there, the line of a crash table
// (relay/doc.go, relay/retry/doc.go) that it belongs to, and where in the source it is. The
// points, and the clock, are laid over the source in one build (package overlay): one binary
// has all of them, and does nothing with them unless its environment names one:
//
//	HOLDFAST_CRASH_AT      the name of a point
//	HOLDFAST_CRASH_NTH     which time that it is reached; 1 by default
//	HOLDFAST_CRASH_SIGNAL  what the process does to itself there: KILL by default, or STOP
//	HOLDFAST_CLOCK         how far its clock is ahead, such as -2h
//
// A point that no longer fits the source fails the build, and so every test here; a line of a
// crash table without a point fails TestEveryLineOfTheCrashTablesHasAPoint, and a point that
// nobody dies at fails TestEveryPointIsTried.
//
// # A crash
//
//	events are committed; a relay starts that will die at a point
//	it dies there, which its exit status and its last line prove
//	more events are committed; a relay that lives starts at once, and waits for the leases
//	everything is settled; history judges the whole
//
// The stream forgets ids at once where only lanes are concerned, so that one copy of each event
// is the look-back's doing. A retry is published again with the same id after a crash, so there
// the stream remembers for its default of two minutes.
//
// # A wrong clock
//
// is the wall clock of one process: what it calls now is off, while durations are measured as
// ever. It concerns all code of this module. Leases, retries, dead letters, history and what
// relay status says go by the clock of the database, so nothing may change.
package pods
