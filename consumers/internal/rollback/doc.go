// Package rollback ends transactions in which nothing is to be kept. It ends them also when the
// context of the caller has ended, and never waits for a database without end: a connection that has
// no answer for it in time is closed, which ends the transaction too.
package rollback
