// Package position says where in the log a moment lies. An event enters the log when it is
// staged, or, if it was held, when it is released; its number is drawn then. So a window of time is a
// window of numbers, and it has released events where they were published, not where
// they were written.
//
// Numbers are dated by the events that were never held, which carry the moment. A window has
// at least what entered the log in its time. It may have a little more: released events that
// lie between the bound and the next event that can be dated, and what ran at the very moment.
// It reads the log and changes nothing.
package position
