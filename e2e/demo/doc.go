// Demo runs the whole of Holdfast once, for real, and checks everything that arrives.
//
//	go run ./e2e/demo          or: make demo
//	go run ./e2e/demo -serve   or: make demo SERVE=1, to look around afterwards
//
// It starts a private Postgres and a NATS server with JetStream, makes a stream with
// `relay stream apply`, and starts two `relay run` processes. Customers then order from
// a small shop (package shop): an order service and a payment service write their
// rows and stage their events in the same transactions. Some transactions are rolled
// back. Some orders are checkouts, whose events are held until the checkout is completed, by
// one caller or by two at once, or called off, or left undecided. Half-way one relay
// is killed with SIGKILL, the other one takes its lanes over, and a third one is started.
//
// # What it promises
//
//   - Progress goes to stderr; a summary goes to stdout, and as its last line DEMO {json}.
//   - The verdict (package check) compares the business tables with every message of the
//     stream, read by a consumer of its own. The outbox is not asked.
//   - Exit code 0 if everything is as it must be, 1 if not, 2 for wrong flags, 130 if it
//     was interrupted.
//   - It leaves nothing behind: no process, no file. On Linux that holds for
//     the processes even if the demo itself is killed.
//
// # The last line
//
//	committed             events of transactions that committed
//	published             of these, in the stream
//	held, released,       committed under a checkout that is undecided, was completed,
//	dropped               was called off; committed = published + held + dropped
//	rolled_back           events of transactions and savepoints that were undone
//	lost                  must be in the stream and is not           0, or exit code 1
//	phantom               in the stream, never committed             0, or exit code 1
//	dropped_published     in the stream, called off                  0, or exit code 1
//	held_published        in the stream, undecided                   0, or exit code 1
//	order_violations      behind a later event of its key            0, or exit code 1
//	body_mismatches       other bytes than were staged               0, or exit code 1
//	invalid_events        no CloudEvent, or other attributes         0, or exit code 1
//	duplicates_in_stream  second copies; delivery is at least once
//	refused_late_writes   steps that came after the decision; one that is not refused
//	                      ends the demo with an error
//	orders, relay_kills, seconds, seed
//
// # What it never does
//
// It never touches a Postgres or a NATS server that it did not start, and listens on
// loopback only.
package main
