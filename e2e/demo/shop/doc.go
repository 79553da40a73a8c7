// Package shop is what Holdfast is used for: an order service and a payment service, with
// tables of their own, that tell the world what they did; and a checkout that
// involves both. Read orders.go first.
//
// # What it promises
//
//   - Every function that writes takes the caller's transaction, writes the business rows
//     and stages the event in it. Both are committed, or neither is.
//   - The ordering key of an event is the id of the order or payment. Its version counts
//     the events of that key from 1, drawn under the lock of the row, so that
//     concurrent writers of one order line up.
//   - The history of an order or a payment names the event of each of its versions, with
//     the SHA-256 of the payload. [Ledger] reads it: what was committed, according to
//     the services alone.
//
// # A checkout
//
// An order that is paid at once is an [Operation] of several transactions in two
// services. Their events are held, so nobody downstream ever sees an order without its
// payment, or a payment of an order that was called off:
//
//	Begin -> Do, Do, Do: steps, each in a transaction of its own
//	      -> Complete  all events leave, in the order in which they were staged
//	      or CallOff   none ever does
//
// # What it never does
//
// It never talks to NATS, and never reads the outbox.
package shop
