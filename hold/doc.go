// Package hold decides whether a held event may ever leave.
//
// Events staged under an operation and a generation wait in the outbox. They are
// released together, and enter the log, or they are dropped together, and nobody
// downstream learns that they existed. A coordinator drives an operation over several
// services; each of them is a participant that keeps its own generations. This is
// the participant's side.
//
// # States
//
//	           register            release
//	(absent) ----------> active ------------> released    (terminal)
//	    \                   \------ cancel --> cancelled   (terminal)
//	     \-- cancel ----------------------------^           tombstone
//
// A generation ends once. Release seals it: a later write is refused. Cancelling a
// generation that was never registered leaves a tombstone, so that a call which was
// on its way when the operation was undone finds a closed door. Register never
// changes a state that exists. The highest generation of an operation is kept for
// ever; one below it may be cancelled, and nothing else.
//
// # Who is authoritative
//
// The row of the generation, read under its lock, decides; nothing that a process
// remembers does, and no clock of a process. The row lives in the database of the
// entities and the events, so it changes with them or not at all. The outbox row
// decides whether an event is held: held means that it has no position (tx is null),
// not that it names an operation, which it does for ever.
//
// # What happens to the entities
//
// Cancel drops events, and the entities stay. Compensate takes the receipts of the cancelled
// generation one by one: a transaction locks the receipt, the service's [Compensator] locks the
// entity and judges it under that lock, and the outcome is recorded.
//
//	           nothing else owns or changed it
//	(applied) --------------------------------> undone        (terminal)
//	     \    shared, or changed since
//	      \------------------------------------> quarantined   (terminal; a person looks at it)
//
// The receipts are read after the mark, which waited for every open write, so none is missed.
// No event may be staged meanwhile: nobody was told of what is undone. The generation is
// finished when each receipt has an outcome. What is quarantined outlives everything.
//
// # What is old
//
// Prune removes ended generations and their receipts by full key, in batches, and waits for
// nobody. It takes nothing that is active or has something left to undo, and nothing younger
// than the retention, which is longer than a coordinator repeats its calls. Then a call gets
// "unknown", and no register brings the generation back.
//
// # Lock order
//
// Operation, then generation, then receipts, then entities.
//
//   - A held write (PublishTxHeld, package receipt) takes the generation FOR SHARE,
//     and belongs before any entity lock of its transaction.
//   - Register takes the operation FOR UPDATE.
//   - Release takes the operation FOR SHARE and the generation FOR UPDATE.
//   - Cancel, Drop and Expire take both FOR UPDATE.
//   - DropEvent takes the operation FOR SHARE and the generation FOR UPDATE.
//   - A step of Compensate takes the generation FOR SHARE and its receipt FOR UPDATE.
//   - Prune takes generations and receipts FOR UPDATE, and skips what is locked.
//
// A transaction that registers, releases, cancels or drops does so before its own held
// writes. The other way round turns the order of locks: against another decision about
// the same generation that is a deadlock, which Postgres ends with a retryable error.
//
// FOR SHARE is the fence: the write waits for an open decision and then reads what it
// decided. A foreign key is none. It asks whether the row is there, not in which state,
// and so lets a write pass that comes after an open decision.
//
// # Races, and who wins
//
//	release against cancel    whoever gets the generation first; the other is told
//	                          which state it is in
//	release against release   one makes the change, the other gets the same answer
//	cancel against cancel     with Changed false; no event moves twice
//	write against release     a write that is open goes first and its events are
//	                          released; a write that comes later waits and is refused
//	write against cancel      the same: its events are dropped, or it is refused
//	register against cancel   cancelled, in either order
//	drop of an event against  the event is released, or it is gone; the drop is refused
//	release                   if it comes second
//	compensate against        each receipt gets one outcome: the second waits for the
//	compensate                first and goes on with the next receipt
//	register n against n+1    n+1; n is refused if it comes second, and can only be
//	                          cancelled if it came first
//
// A decision waits for the writers that are open. Writers that keep arriving may go in
// front of it, so a coordinator decides when its own calls have ended.
//
// Release and cancel demand READ COMMITTED and refuse other levels: they must see the
// events of the writer they waited for, and an older snapshot doesn't show them.
// Writers may use any level; at a stricter one they get a retryable error (see
// outbox.Retryable) when a decision came between.
//
// # Crash table
//
//	dies                              is found afterwards
//	before register commits           absent: a write is refused, cancel leaves a tombstone
//	after register                    active, no events; waits for a decision or its expiry
//	while a held write is open        nothing of it: entity, receipt and events are one transaction
//	after a held write                active, events held; the repeated call is a replay
//	while release or cancel is open   active, all events held
//	after release or cancel           decided; the repeated call gets the same answer
//	while a step is compensated       nothing of it; the repeated call undoes it
//	between two steps                 the first has its outcome; the repeated call goes on
//	between two batches of Prune      what is left goes with the next one
//
// There is no state between. Every call can be repeated after an unknown outcome.
//
// # What it never does
//
// It never releases by itself, never releases or undoes because of time alone unless a generation
// asks for it (package keeper), never changes an event's id, attributes or body, never
// logs a payload, never keeps a lock over a call to another process, and leaves no
// state in a session, so that it works through a transaction pooler.
package hold
