// Package holdclient calls the control surface of a participant's holds (package holdhttp):
// register, release, cancel, get. A coordinator has a [Client] for each participant.
//
// # What becomes of a call
//
//	the participant answers        the answer, once it was seen to be about this very call
//	it refuses                     a [*ProblemError] that matches a sentinel; not repeated
//	too many calls, not now        repeated, when Retry-After says so
//	no answer, or none that can    repeated, after a pause that doubles
//	be understood
//	still none                     [ErrUnknownOutcome]: it may have happened, or happen yet
//
// Each call is safe to repeat, so an unknown outcome is repeated, here and by whoever gets the
// error. A refusal of a generation ends the operation for its coordinator: the errors match
// those of package outbox, such as outbox.ErrGenerationCancelled.
//
// # What it never does
//
// It never follows a redirect, never sends a token without TLS to another machine unless it
// is told to, never reads more of an answer than a limit, never takes an answer about something
// else for one, and puts neither a token nor the text of a foreign answer into an error or a log.
// It has no state but idle connections.
package holdclient
