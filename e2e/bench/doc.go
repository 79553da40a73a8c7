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
// With -only it measures some of these, and with -quick everything once with a tenth of the events, to see
// that it works:
//
//	drain     each publisher against the broker alone, and with an old snapshot held open
//	latency   from commit to a consumer at 200 events/s: polling, with wake-ups, and the floor
//	idle      what a relay costs that has nothing to do
//	stage     what an event adds to the transaction that stages it
//	append    what staging an event costs a service with eight transactions at once
//	retained  the drain beside millions of published and held events
//	backlog   a large backlog against a small one, and the relay's memory
//	scale     more relays on a database, more databases on a cluster
//
// docs/benchmarks.md says what each figure means. Other tools on the same work are in e2e/bench/peers.
//
// With -soak it writes that many events instead, empties the slots on the way, and prints how large the
// log is and how long looking at it takes as it goes.
//
// It promises no absolute speed and asserts nothing.
package main
