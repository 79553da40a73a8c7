// Package outbox stages events in the transaction that writes the business rows, so
// that both are committed or neither is. A relay moves them to the broker later.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if err := insertOrder(ctx, tx, order); err != nil {
//			return err
//		}
//		_, err := outbox.PublishTx(ctx, tx, placed)
//		return err
//	})
//
// Events are those of the CloudEvents SDK. [PublishTx] and [PublishTxHeld] take a
// transaction of pgx; [PublishSQLTx] and [PublishSQLTxHeld] take one of database/sql, and
// of what is built on it: *sqlx.Tx and bun.Tx as they are, an ent transaction with the
// feature sql/execquery, and tx.Statement.ConnPool inside a GORM transaction. A
// [Publisher] does the same for another database schema, source or limit. Services in
// other languages call the SQL functions, which agree with this package event by event:
// testdata/conformance.json holds both to the same cases.
//
// # What it promises
//
//   - An event leaves the outbox if and only if its transaction commits. A held one, only
//     if its generation is released as well.
//   - Any number of events takes one round trip. (With pgx's default mode the first call
//     on a connection takes one more, to prepare the statement.)
//   - Events get their positions in the order of the arguments and of the calls.
//   - The payload is stored bit for bit: DataEncoded as it is, never parsed. Nil is no
//     payload, which is not the same as an empty one.
//   - What the database would refuse is refused before anything is sent, all faults of all
//     events together, and the transaction can go on.
//   - The arguments are not changed, and no payload appears in an error.
//   - Everything here is safe for concurrent use; a transaction itself is not.
//
// # What it never does
//
// It never begins, commits or rolls back, never retries, never talks to a broker, starts
// no goroutine and keeps no state. It holds nothing that a transaction pooler could break:
// all modes of pgx work, those without prepared statements included. No setting of the
// session changes what is stored, except array_nulls, which must be on, as it is since
// Postgres 8.2.
//
// It does not look for duplicates. The log has no unique index on ids, so that a
// producer's deterministic ids cannot abort its transaction: an id that is staged twice is
// published twice, under the same message id, which the broker's dedup window and the
// consumer's fact key reduce to one.
//
// # What becomes of an event
//
//   - id: a UUIDv7 when empty. Give it one that follows from the request when the
//     request may be repeated after an unknown outcome.
//   - source: Config.Source when empty.
//   - time: the database clock when absent or zero. It is stored in UTC, rounded by
//     Postgres to the microsecond.
//   - specversion: 1.0 only.
//   - partitionkey: this extension is the ordering key. Events of one key stay in
//     order, if the producer serialises writers of the key, as a row lock on the aggregate
//     does. Without a key an event has no order. It is stored beside the extensions.
//   - other extensions: names are 1 to 20 of a-z and 0-9. Values become a JSON boolean,
//     32-bit integer or string: binary is base64, URIs and times their text. All
//     together take at most 8,192 bytes.
//   - the type is dotted tokens of printable ASCII without * and >, and no $ in front.
//     Other texts are UTF-8 without control characters, C1 included. Noncharacters such
//     as U+FFFF, which CloudEvents forbids, pass here as they do in SQL.
//
// A setter of the SDK that refuses a value leaves its error in the event; such an event is
// refused here. The SDK's SetExtension turns names to lower case before we see them, and
// makes integers of fractions.
//
// # Trace context
//
// The event carries on the trace of the call: Config.Propagator writes traceparent,
// tracestate and baggage from ctx into its extensions, unless the event has a traceparent,
// which then was set when it was created and stays what it is. An extension that the event
// has itself is never replaced. What does not fit beside the event's own extensions is
// left out, the baggage first: an event is never refused for what surrounds it.
//
// # Crashes
//
//	the process dies               business rows   event       what to do
//	before or in the call          gone            gone        repeat the request
//	after it, before the commit    gone            gone        repeat the request
//	while the commit runs          both or none of them        unknown: repeat with the same id
//	after the commit               there           there       nothing, relays take it from here
//
// A commit that ends with a connection error is the third line: the outcome is unknown
// until one looks. A repeated request then finds its business row, or stages an event with
// the same id, which consumers tell apart from a new one. Held events follow the same
// table; a held event whose operation nobody decides waits, and the hold's alarms name it.
//
// # Transactions
//
// Savepoints roll back the events staged in them. READ COMMITTED, REPEATABLE READ and
// SERIALIZABLE all do; under the last two the gate of a held event can end the transaction
// with a serialization failure, see [Retryable]. A transaction prepared for two-phase
// commit holds its events back until COMMIT PREPARED, and nobody else's. synchronous_commit
// must not be off for a transaction that stages: a crash of the server could then take back
// events that were published. A long transaction delays its own events only.
//
// A pool, a connection or nil in the place of a transaction is refused with
// [ErrNotTransaction] as far as it can be seen: what begins transactions but can't commit
// is none, except a *pgx.Conn that is in one which was begun by hand. A wrapper that hides
// its methods can't be seen through; its events would be committed alone.
package outbox
