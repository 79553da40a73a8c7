// Package retention keeps the log from growing: it empties the slots whose events have been kept
// for long enough, and removes old lines of the tables that record. It is what the daemon does
// at a period, and what `relay prune` does.
//
// # Slots
//
// The log is partitioned by slot, and the clock says into which slot an event goes:
// (epoch / period) mod slots. A slot is emptied by TRUNCATE, never row by row, so it leaves no
// dead row behind and its cost does not grow with its events. Nothing depends on that it happens:
// when nobody empties a slot, the next cycle writes into it too.
//
// # When a slot may be emptied
//
// Under ACCESS EXCLUSIVE on the slot, so that nobody has anything uncommitted in it, and by
// statements that see everything that was committed before the lock, all of this must hold:
//
//	old        its newest event entered the log longer ago than the retention
//	drained    every event is in drained of its lane, for every relay group that has lanes
//	not needed no event waits for its retry, but for those that a requeue keeps a copy of
//	not held   no event is held; held events are moved to the slot of now before, in batches
//	own        the cursors are of this cluster, and every group has all its lanes
//
// The database decides all of it, in the function retention_rotate: the one right to empty a
// slot. Each condition is a probe of an index, whatever the statistics say, so it takes
// as long for ten events as for ten million.
//
// Drained is judged with the lane's snapshot as the relay's reads do. A backlog that is being
// paged counts as not drained. A producer whose transaction is still open has a lock on the slot, so
// the lock is not to be had; after its commit its transaction is not in drained.
//
// # Which event is the newest
//
// The one with the highest number, because a number is drawn when an event enters the log. It is
// dated by when it was staged or released. A clock that jumps writes events into a wrong slot
// under a wrong date; the neighbours in the order of numbers correct that: an event is not
// older than the one before it, and one from the future is not younger than the one after it.
//
// # The lock
//
// Readers and writers of the slot queue behind whoever waits for its lock. retention_rotate waits
// 50 ms at most, once in a pass, and gives up: outcome busy. It is tried again at the next pass.
//
// # Held events
//
// A move changes the slot and nothing else: operation, generation, number and so the order stay.
// Before the rows the gates of their generations are locked FOR SHARE, which keeps release and cancel
// out; a generation that somebody is deciding is skipped. So a decision finds its events either
// before the move or after it, and neither side waits for a row of the other.
//
// # One pod at a time
//
//	look ----- nothing to do: reads only, nothing is written
//	  |
//	  v
//	claim ---- somebody else has the lease: nothing to do
//	  |
//	  v
//	rotate ... moved: again; emptied, busy, refused: the next slot; lost: stop
//	  |
//	prune .... until a batch is not full
//	  |
//	release
//
// The lease is a row with a token for each claim. retention_rotate demands it, holds its row
// until its end, and judges it by the clock of the database: who lost the lease changes nothing.
//
// # Crash table
//
//	dies ...                          then
//	before the claim                  nothing was begun
//	with the lease                    the lease ends by itself; the next pass begins at the look
//	between two batches of a move     what was moved stays moved; the rest is moved later
//	under the lock, before commit     the lock is gone with the transaction; the slot is as it was
//	in the commit, outcome unknown    the slot is empty or it is not; both are correct
//	after a slot was emptied          done; the relay's cursors never pointed into it
//	in a prune                        a batch is gone or it is not
//
// # What it never does
//
// It deletes no event that some relay group has not settled, changes no event but the slot of a
// held one, never waits in the queue of a lock beyond its bound, reads no payload, and writes
// nothing while there is nothing to do.
package retention
