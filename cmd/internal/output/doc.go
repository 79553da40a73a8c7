// Package output writes what a command has to say on standard output: text for people, JSON
// for programs.
//
// The JSON is a contract. It is only ever added to; times are RFC 3339 in UTC, durations are
// seconds, ids are strings. Text may change at any time.
//
// Colour is used on a terminal only, never with NO_COLOR or TERM=dumb, and never to
// say something that the words do not say.
package output
