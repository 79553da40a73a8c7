// Package registry is a service that owns persons, households, memberships, incomes and assets. It is
// the participant of the example: see docs/sagas.md for a walk through it, and record.go first.
//
// # What it keeps
//
// An entity is an identity, and what it belongs to. What is known about it are facts: append-only,
// numbered, each sealed with a key of its own. A correction is one more fact. Whoever destroys
// the key of a fact has erased it, also from every copy of the rows.
//
// # What it promises
//
//   - A write that carries the identity of a step happens once, and its events are held: the gate, the
//     receipt, the entity, its fact and its events are one transaction (package receipt).
//   - A write without one is an ordinary write, and its events leave when it is committed.
//   - Events carry ids, never what is known about somebody. Whoever reads one can ask for the
//     entity: it was committed before the event left.
//   - Nothing is added to an entity that was undone.
//
// # Undoing
//
//	the entity                                             becomes
//	has facts and belongings of the operation alone        erased: its keys destroyed, inactive
//	was corrected by something else since                  quarantined, intact
//	belongs to something else as well                      quarantined, intact
//
// It is judged under the lock of the entity, which everybody takes who adds to it, and keys are
// destroyed by their own ids, of the facts that the step wrote, and never "all about this person":
// that could be a correction of somebody who came later. No row is deleted.
//
// # Order of locks
//
// The gate of the generation, then entities in the order of their ids.
//
// # What it never does
//
// It never logs a body or a name. The keys are in the same database, which makes the example
// small; a service of yours would keep them where a backup of its rows is not.
package registry
