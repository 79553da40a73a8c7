// Package retry keeps the events that the broker refused: those that wait for their next
// attempt, the later events of their keys that wait behind them, and those that were given
// up. It is used by the relay; the dead letters are also handled by operators.
//
// # States of an event
//
//	                   settle of its batch
//	in the log ---------------------------------> retry_scheduled <----+ retryable: attempts + 1
//	     |    (a key that waits) ---> parked          |  |  +----------+
//	     |                              |  accepted,  |  |
//	     |        head left: due now    |   skipped   |  | permanent, or attempts used up
//	     |                              v             v  v
//	     +--------------------------> claimed ----> gone   dead letter --- discard ---> gone
//	                                    ^                      |
//	                                    +------ requeue -------+   epoch + 1
//
// An event is waiting or a dead letter, never both: triggers of the schema see to it in
// both directions. A parked event is due when no earlier event of its key waits.
//
// # Claims
//
// Rows are claimed one by one with FOR UPDATE SKIP LOCKED, in the order (next_visible_at, id),
// with a fresh token and the next row version for each claim. A claim is proven by its
// whole tuple in the statement that writes, by the clock of the database. An expired
// lease cannot commit, even if nobody took the row: unlike a lane, a retry has no
// settle to lose, so there is nothing to be lenient about.
//
// # Crash table
//
//	dies ...                              then
//	after ClaimDue                        the lease ends and another worker claims the row
//	between publish and Record            the event is published again with the same id: one copy
//	                                      while the stream remembers the id, see below
//	in Record, outcome unknown            repeat it: the same terminal outcome gets the same answer
//	while a dead letter is moved          one transaction: it is here or there
//
// A kill between publish and Record is the one place where the relay has no look-back: a
// row has no stream sequence to look back from. What bounds a second copy is the dedup window: a row
// is claimed again after its lease, which is the lease of a lane and two time-outs of an
// acknowledgement, 20 s by default, and a stream that relay stream apply makes remembers ids for two
// minutes. So a second copy needs an outage of all pods, or of the broker, that begins in
// these milliseconds and outlasts the window; it concerns the events of one claim, at most one
// of a key, and has the same id, which consumers know.
//
// # What it never does
//
// It never stores or logs what the broker said: only a code of a closed set and a digest.
// It never touches the log, and it never lets one unsound row stop the others: such a
// row is not claimed, and [Store.Unsound] names it.
package retry
