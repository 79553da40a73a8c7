// Package history judges what happened. It holds a record of a run, from the
// transactions of producers to the messages of the stream, and functions that say what in
// it must not be.
//
// # Where a history comes from
//
//	producers    each transaction that staged events, each release and drop, with its outcome:
//	             ok, failed, or unknown when the answer was lost
//	proxies      each publication that the broker was given, each acknowledgement, and whether
//	             it was delivered
//	triggers     each change of a lane: claims, renewals, settles, hand-backs, with the session
//	             that made it, and each step of an event that waits for a retry; in the
//	             transaction that made it, so it is true if the change is
//	the ledger   business rows written with the events: the truth about unknown outcomes
//	a reader     every message of the stream, read by code that shares nothing with the relay, and
//	             every one that a rollback of the broker's store removed
//	a consumer   what was read while the faults were going on
//	consumers    the facts and effects that are in their database at the end
//
// # What must hold
//
// Each invariant is a function from a [History] to its violations, listed in [Invariants].
// None of them asks the relay, and none takes the word of the outbox for what was
// committed. Every one has tests that feed it a wrong history and want it to say so.
//
//	NoLoss                 what was committed, and is not held or dropped, is in the stream
//	NoPhantom              what is in the stream was committed, and not before its commit began
//	HoldSafety             what is held or dropped never is in the stream; what was released, not earlier
//	SettledImpliesPresent  when a cursor passes an event, the event is in the stream
//	BoundedDuplicates      a second copy has a cause, and there are no more copies than publications
//	ExactHandover          a relay that takes a lane over stores nothing that was there before
//	KeyOrder               the events of a key are in the stream in the order of their versions
//	BytesEqual             a message says what was staged, to the byte
//	StreamSequence         sequences have no gap, and acknowledgements and reads name the right one
//	Liveness               after the last fault everything is delivered within its time
//	Fencing                nobody settles or claims a lane that is another's, or whose lease is over
//	CursorForward          the cursor of a lane never goes back
//	Accounting             each event is settled once, and counters agree with the record
//	RefusalsCounted        an event has no more attempts than refusals: an outage counts nothing
//	OutcomesTrue           what was reported committed is, and what was reported failed is not
//	RepairExact            a repair publishes what a rollback removed, and nothing else
//	EffectsOnce            what is in the stream has one fact with one effect, and nothing else has any
//
// # Rollbacks
//
// A broker that loses acknowledged messages with its store breaks a promise that no relay can
// keep for it. Such a [Rollback] is part of the record with what it removed, exactly, so that it
// excuses nothing else: settled events must have been stored before, first copies must be in the order
// of their keys, phantoms and what left a hold too early count although they are gone, and NoLoss asks for the
// stream as it is at the end, after the repair.
package history
