// Package replay publishes events again on purpose: to another subject prefix, or to the same
// subjects for consumers that have lost what they had. It is what `relay replay` does.
//
// # What is replayed
//
// Events of the log that are settled for the relay group: they were published once. A window of time
// is one of entering the log, see package position. Never replayed are events that are held, that
// a relay has still to drain, that wait for a retry, and dead letters, also discarded ones. So a
// replay cannot overtake a relay, and what is on its way goes out once.
//
// # Message ids
//
// Every message has the id of its event with an epoch: MsgID.r1796000000000000. Its subject may have
// another prefix; the event in it is the same, with its id, so consumers that keep what they did
// do nothing twice. The epoch is what makes the stream take a message that it has.
// Repeating a replay under its epoch publishes nothing twice within the dedup window of the stream.
//
// # Order
//
// Events go out in the order of the log, a chunk at a time, those of a key one after the other. An event
// that the broker refuses, or whose subject the stream does not have, is counted and left out, and the
// others go on. A stream that has none of their subjects is the wrong one, and an error; Plan.Strays says
// both before anything is published, and Config.LeaveStrays goes on where it found others.
//
// # Crash table
//
//	dies ...                      then
//	at any point                  Config.After continues behind the last number that was acknowledged,
//	                              under the same epoch; the chunk in flight is in the dedup window
//	                              or goes out twice under its replay ids
//
// # What it never does
//
// It never changes the database, and never publishes an event under the id that the relay uses.
package replay
