// Package receipt makes a participant's step happen once, however often it is called.
//
// A receipt says that a step of an operation was applied, and to which entity. [Do]
// passes the gate of the generation, claims the step, and calls a function that writes
// the entity and stages its events, held; all in the caller's transaction, so that the
// receipt, the entity and the events are there together or not at all.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		result, err := receipt.Do(ctx, tx, step, func(tx pgx.Tx) (string, error) {
//			person, err := insertPerson(ctx, tx, request)
//			if err != nil {
//				return "", err
//			}
//			_, err = outbox.PublishTxHeld(ctx, tx, step.Hold(), person.Created())
//			return person.FactID, err
//		})
//		...
//		return err
//	})
//
// # Outcomes
//
//	Applied    the function was called, and its receipt is written
//	Replayed   the step was applied before; the function was not called, and the stable
//	           id is that of then
//	Refused    the gate is closed; there is an error as well, because Postgres has
//	           ended the transaction
//
// None of them is a silent nothing: whoever ignores the outcome of a refusal has the
// error, and whoever ignores the error can't commit.
//
// # Order of locks
//
// The gate's row comes before any entity's: call Do first, and lock entities in the function.
//
// # Crash table
//
//	dies                         is found afterwards
//	before the caller's commit   no receipt, no entity, no event; the next call applies
//	after it                     receipt, entity and held events; the next call replays
//
// Two calls of one step at once: the second waits for the first one's end, and then
// replays, or applies if the first one rolled back.
//
// # What it never does
//
// It never commits and never rolls back: the transaction is the caller's. It never
// compares or keeps a body, only its digest. What the function does outside of the
// transaction, such as a remote call, it can't undo: don't.
package receipt
