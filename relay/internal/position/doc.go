// Package position says where in the log a moment lies. An event enters the log when it is
// staged, or, if it was held, when it is released; its number is drawn then. So a window of time is a
// window of numbers, and it has released events where they were published, not where
// they were written.
//
// The bounds are as exact as the clock of the database is: transactions that ran at that moment
// may be on either side. It reads the log once and changes nothing.
package position
