// Package facts makes an economic fact known once, whatever is delivered again.
//
// A fact is what happened in the world: this refund of this account, told by this provider.
// Its identity is (source, account, type, key). Deliveries, event ids and attempts are no part
// of it, so two events that tell the same fact meet in one row, which stays for ever.
//
// # The protocol
//
// [Claim] is the first statement of the transaction that writes the effect:
//
//	INSERT .. ON CONFLICT DO NOTHING RETURNING id    a row: [Applied]
//	SELECT .. in a later statement, a new snapshot   equal: [Replayed]; else: [Mismatch]
//
// The unique index is the only arbiter. A loser waits on it until the winner commits, and then
// compares every attribute, or until the winner rolls back, and then wins. There is no
// advisory lock, no try-lock and no limit that turns waiting into an error.
//
//	outcome    the handler                           who decides later
//	Applied    writes the effect with Claimed.ID     nobody: it is done
//	Replayed   writes nothing                        the proof of the effect
//	Mismatch   writes nothing                        a person, from the quarantine
//
// # What it promises
//
//   - The row of a fact is written in the caller's transaction, with the effect or not at all.
//   - Attributes are compared all of them, in both directions, and are never part of the key.
//   - A [Key] is made of named parts; a name or a value that says time, chance, attempt or event
//     is refused, and so is a key that contains the id of the event that is being handled.
//
// # What it never does
//
// It deletes and changes no fact: an effect that is voided or has ended does not free its key.
// It turns no unique violation into success, and never logs an attribute.
//
// A transaction that claims several facts should claim them in the same order everywhere;
// otherwise Postgres may end one with 40P01, and it has to be run again.
package facts
