// Package saga drives operations that are made of several calls to other services and one
// final local commit. Each service that is called is a participant (package hold): what it stages
// waits until the coordinator releases it. This is the coordinator's side: the store of
// operations, the runner of their steps, and the reconciler that ends what nobody ends.
//
// # States
//
//	           claim                final transaction
//	(absent) ----------> in_progress ----------------> completed    (terminal; then released)
//	                        ^   |
//	              next      |   | lease over for longer than the grace: the reconciler
//	              generation|   v
//	 aborted <------------- | compensating ----> stuck    (a person: retry)
//	    |   every participant  ^                   |
//	    |   has cancelled      +-------------------+
//	    +-------------------+
//
// Each statement that changes a state names the state it comes from and the token of the lease.
//
// # Who is authoritative
//
// The row of the operation, under its lock. The lease is a token and a time, judged by the clock of
// the database. A claim locks the subject first (the thing that the operation consumes) and
// then the row; so does the final transaction. Receipts of participants are the truth about steps;
// the table of steps is a cache. What the service's own table of results says outlives the row: a
// claim asks it when the row was pruned.
//
// # Claim
//
//	subject     row                               outcome
//	gone        completed                         Completed, with the answer of the first time
//	gone        other, or none                    SubjectGone, or Completed from the result's table
//	there       none                              Won, generation 1
//	there       completed                         Completed
//	there       pinned digest differs             DigestMismatch, except after aborted
//	there       compensating                      InProgressElsewhere
//	there       in_progress, lease live           InProgressElsewhere
//	there       in_progress, lease over           Won: a steal, same generation, basis and digest
//	there       aborted                           Won: next generation, pinned anew
//	there       stuck                             NeedsOperator
//
// # A zombie is harmless
//
// A holder whose lease was stolen may still have a call on its way, in the same generation as its
// successor. Everything that varies is pinned in the basis, so both send the same bytes, and the
// receipt at the participant makes the second call a replay. After the call the zombie cannot
// record its step, and parks: it makes no further call. It cannot complete, nor release.
//
// # Races, and who wins
//
//	claim against claim            one inserts or steals; the other is told how long to wait
//	claim against the reaper       whoever locks the subject first; see [Store.NotReapable]
//	steal against completion       whoever locks the row first: the completion finds a foreign
//	                               token, or the steal a completed operation
//	completion against reconciler  the same
//	reconciler against reconciler  one claims; both may cancel and release, which is harmless
//	result written by another      its unique index decides: roll back, read, return it
//
// # Crash table
//
//	dies                                  then
//	before the claim commits              nothing
//	after the claim                       the lease ends; the next claim steals, or the grace ends
//	between two steps                     the same; what was recorded is not called again
//	after a call, before it is recorded   the same; the participant replays
//	in the final transaction              the same
//	after the final commit                completed; the reconciler releases
//	while it releases                     the same; a release can be repeated
//	reconciler, after it claimed          its lease ends; another one goes on
//	reconciler, between two cancels       the same; a cancel can be repeated
//
// # What it never does
//
// It never holds a lock, a transaction or a connection over a call to a participant, never judges
// by the clock of a process, never releases what is not completed, never marks as aborted what one
// participant has not cancelled, never prunes what is completed and not released, and never logs a
// basis, a request or a result. It has no state in a session.
package saga
