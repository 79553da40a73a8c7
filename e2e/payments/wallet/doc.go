// Package wallet is a service that is fed by a payment provider, and uses consumers as
// docs/consumers.md teaches. Read wallet.go first.
//
// # Where double money would come from
//
//	the provider tells a payment twice    payment_intent.succeeded and charge.succeeded, with ids of their
//	                                      own: one mapper makes one fact of both
//	it tells it again, years later        the fact is known for ever
//	a payment for two wallets             the wallet is the account of the fact: two facts
//	a refund                              has an id of its own from the provider: a fact of another type
//	a job that knows nothing of facts     entry_once, a unique index over what an entry says
//
// # What it promises
//
//   - An entry, the balance and the event wallet.moved are written in the transaction of the fact, or
//     none of them.
//   - The balance of a wallet is the sum of its entries at any moment.
//
// # What it never does
//
// It deletes no entry and changes none: a correction is an entry of its own.
package wallet
