// Package surface serves the control surface of holds for relay run, beside the drain and apart from it: with
// an address, a database pool and deadlines of its own.
//
// # What it promises
//
//   - Whoever takes long, sends nothing or opens many connections is cut: every read and write has a
//     deadline, and only so many connections are open at once.
//   - It stops by itself within its own time, while the relay stops: no call begins any more, those that run
//     may end, and what is left then is cut. Every call is safe to repeat.
//   - A certificate that was replaced is used without a restart. While its files are gone or do
//     not fit, as in the midst of a change, the last one counts.
//
// # What it never does
//
// It never ends the relay: a surface that fails while it runs is logged, and keeps the pod from being
// ready. It never speaks plain text where TLS is set.
package surface
