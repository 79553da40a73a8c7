// Package adopt takes over an outbox that a service wrote itself: it looks at the live table,
// and writes a migration that moves the events that were not published yet into event_outbox,
// in their order.
//
// # What it knows
//
//	shape        is known by                                             not published
//	flag         published_at, a type and a payload                      published_at is null
//	status       status, a type and a payload                            a status such as pending
//	debezium     id, aggregatetype, aggregateid, type, payload           the rows that you say
//	watermill    offset, uuid, created_at, payload, metadata,            behind the cursor of the
//	             transaction_id                                          consumer group
//	copy         event_id, source, type, partition_key, data             published_at, status, or
//	                                                                     drained of outbox_lane
//
// Everything else is refused with all reasons at once, as a [*RefusedError], and so is what it
// cannot judge: a column without a meaning, a status that it does not know, events of one
// key whose order nothing tells, two events with one id, a row that the canonical table would
// not take, triggers, rules, row security, partitions, and foreign keys on the table.
//
// # The migration
//
// It is one statement, so it is whole whatever tool runs it, and everything that was
// looked at is looked at again, under the lock:
//
//  1. lock the table against every write and every FOR UPDATE (EXCLUSIVE; reading goes on),
//     and wait 10 s at most for those that are in a transaction;
//  2. stop, with nothing changed, if anything is not as it was when the migration was written, or
//     event_outbox has events of the same source and key, which would overtake those that are moved;
//  3. insert the unpublished rows into event_outbox in their order, each with new position;
//  4. mark them in the old table as published, where it has a mark;
//  5. put a trigger on the old table that forwards every later row in the writer's transaction.
//
// What happens to writers: before the lock, what they commit is moved. During it, they wait.
// After it, those that still write to the old table are forwarded, so old and new
// versions of a service may run side by side, and the events of a key keep their order.
//
// # Crash table
//
//	dies ...                 then
//	before the commit        nothing happened; the tool runs the file again
//	after the commit         it is done; the tool may not know that, and a second run is refused:
//	                         the table has the trigger
//
// # What it never does
//
// It never deletes or drops anything; [Adoption.Drop] is a migration of its own. It changes no
// payload: text and json are taken as their UTF-8 bytes, bytea as it is, jsonb as the text that
// the server writes for it, which is all that is left of what was once inserted. It does not
// stop the old relay, which has to be stopped before the migration runs.
package adopt
