// Command bench measures Holdfast on this machine and prints one line a figure:
//
//	BENCH <name> <value> <unit>
//
// Everything shares the machine: Postgres with its durable defaults, a NATS server with
// a file store, the relay and the load. A figure is the median of at least three
// runs, and the runs of what is compared are interleaved, so that a change of the
// machine's speed meets all of them alike. Rates are comparable only within one run
// of the program; the ratios are what to quote.
//
// With -soak it writes that many events instead, empties the slots on the way, and prints how large the
// log is and how long looking at it takes as it goes.
//
// It promises no absolute speed and asserts nothing.
package main
