// Package round is what the rounds of a keeper and of a reconciler have in common: each looks after many
// things, goes on when one of them makes trouble, and measures what waits at its end.
//
// It promises that a thousand faults are not a thousand lines, and that a number which is not
// measured again is soon not shown. It never touches a database.
package round
