// Package keeper looks after the holds of a participant: it decides about generations whose
// time is over, and never releases one on its own. Run as many as there are pods.
//
// # Expiry
//
// A generation that is undecided at its expires_at is overdue, by the clock of the database.
//
//	without a resolver   policy cancel: it is cancelled; policy alarm: people are told
//	with a resolver      the coordinator is asked, whatever the policy:
//	                       committed   it is released
//	                       aborted     it is cancelled
//	                       unknown     nothing changes; asked again after a pause that grows
//	                       an error    the same as unknown, and logged
//
// So with a resolver nothing is cancelled by time alone: what time means, the coordinator
// knows better. A generation that is not due is not asked about and nothing is counted.
//
// # Compensation
//
// With a compensator, cancelled generations that have steps without an outcome are undone, in
// the order of their decisions, whoever cancelled them. So the end of a process between the mark
// and the last step leaves nothing behind for ever. What fails waits for a pause that grows.
//
// # Pruning
//
// Ended generations and their receipts go when they are older than the retention, which must be
// longer than a coordinator repeats its calls. Overdue generations stay, however old.
//
// # Alarm
//
// Each pass measures what waits, for the metrics, and logs a warning when the number of overdue
// generations changes. Metrics carry states and counts, never an id.
//
// # Two at a time
//
// A keeper takes a turn: a row with a token, and a time after which it is somebody's turn
// again. No lock and no transaction is open while the coordinator is asked. The turn saves
// work and nothing else. A keeper that lost its turn may still decide: decisions are judged
// under the lock of the generation, happen once, and both keepers had the same verdict. Two
// that undo one generation take turns at each receipt. Two that prune skip each other's rows.
//
// # Crash table
//
//	dies ...                             then
//	after it took the turn               it is somebody's turn when the lease is over
//	after the coordinator answered       the same: it is asked again
//	after the decision                   the generation is decided, and due no more; if it was
//	                                     cancelled, its entities are somebody's turn
//	while a step is undone               nothing of the step; its turn comes again
//
// # What it never does
//
// It never releases without the coordinator's word, never touches what is not due, and never
// stops because one generation makes trouble: the others have their turn.
package keeper
