// Package check is the demo's judge. It compares two records that have nothing in
// common but the world they describe: a ledger, which says what the services committed,
// and the messages that an independent consumer read from the stream.
//
// # What it promises
//
//   - The ledger is filled from the business tables. Nothing here looks into the outbox,
//     so an outbox that is wrong cannot vouch for itself.
//   - [Read] has a connection of its own and reads the stream from its first message to its
//     last, in the order of the stream. It reads as package history does: with code that
//     shares nothing with the relay.
//   - [Compare] is a pure function. Every number of a [Verdict] is counted by it, and
//     each kind of wrong history is counted by a number of its own; its tests feed it
//     one of each.
//
// # What it never does
//
// It never changes anything that it looks at, and it never takes the word of the relay
// or of the broker for what was published.
package check
