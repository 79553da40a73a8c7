// Package consumers hands events from JetStream to a handler so that they have one effect each,
// whatever is delivered again. Package [github.com/holdfast-dev/holdfast/consumers/facts] is its
// arbiter. A [Consumer] is the runtime; an [Applier] is the same transaction and proof without a
// broker, for whatever else writes the same effects.
//
// A broker delivers again, a producer publishes again, and two different events may tell the
// same thing. So what is applied once is neither a delivery nor an event but an economic fact,
// and a message is acknowledged when the effect of its fact is proven, and not before.
//
// # Who is authoritative
//
//	question                          answer
//	has this fact happened            the row of consumer_fact, by its unique identity, for ever
//	was it told in another way        the attributes of that row, compared all of them
//	did it have its effect            exactly one effect row whose foreign key is that fact
//	may the message be acknowledged   the proof: a query after the commit that finds that effect
//	was the event delivered           consumer_inbox, an audit; it never authorises anything
//
// # States of an event
//
//	fact      effect    in the transaction                 afterwards
//	new       none      fact, effect and inbox are written  proven: acknowledge
//	known     one       inbox is written, if it was lost     proven: acknowledge
//	known     none      nothing                              not proven: deliver later, never acknowledge
//	differs   any       quarantine is written                acknowledge and alarm; strict: deliver later
//	unknown   unknown   the database failed                  deliver later; the next one finds out
//
// # Crash table
//
//	dies ...                                                    what is left         what the next delivery does
//	after the consumer was made on the stream                   the consumer         finds it as it is wanted
//	before the claim                                            nothing              applies
//	after the claim, before the effect                          nothing              applies
//	after the effect, before the commit                         nothing              applies
//	during the commit                                           all or nothing       applies, or proves
//	after the commit, before the proof                          fact, effect, inbox  proves and acknowledges
//	after the commit, and the inbox is pruned, years later      fact, effect         proves, and writes the inbox again
//	after the proof, before the broker knows                    fact, effect, inbox  proves and acknowledges
//	after the acknowledgement                                   fact, effect, inbox  there is none
//	after a quarantine, before the broker knows                 quarantine, inbox    acknowledges; one row stays
//	after an attempt failed, before it is counted               the attempts before  is that attempt
//	after an attempt was counted, before the broker knows       the attempts         is the next attempt
//	before the dead letter is written                           the attempts         fails and is given up
//	after the dead letter was written, before the broker knows  dead letter          tells the broker, handles nothing
//	after the broker was told to forget the message             dead letter          there is none
//
// # Outcomes of a delivery
//
// Each delivery is settled exactly once, in one of three ways:
//
//	ack, confirmed by the broker   proven; in quarantine; without a fact, as the handler says
//	later, always with a delay     everything that is not known to be final
//	term                           after the dead letter was written, and not before
//
//	error                                                counted  at last
//	[Permanent], a fact or a key that cannot be          yes      a dead letter at once
//	any other, a panic, a proof that finds no effect     yes      a dead letter after Config.Attempts
//	handling took too long while the database answers    yes      the same
//	a handler does not come back                         yes      the same; its connection is closed
//	the database or a connection is away, [Unavailable]  no       applied when it is back
//	the commit got no answer                             no       the next delivery finds out
//	40001, 40P01                                         no       the transaction runs again at once, three times in all
//	the group is paused, the consumer stops              no       applied later
//
// It is the database that counts attempts, in the inbox, for all instances together; so while it
// is away nothing is counted. The broker's own limit is unlimited, because it would count
// outages. A consumer on the stream that is not as wanted ends the run, at the start and later: it
// is compared, and never changed but by [Plan.Apply].
//
// # Rules
//
// All of it is one transaction at READ COMMITTED on one connection, with the claim of the
// fact first and no call to anything outside. Losers wait on the unique index. The effect is
// proven in the transaction, so that no fact is committed without one, and again after the
// commit, before the broker is told. A unique violation that was caught is no success. The
// switch of the group is read by the last statement: what is paused commits nothing. A message
// that is given up is written to consumer_dead_letter before the broker is told, and an outage
// gives nothing up. Every writer of effects claims facts, replays and repairs too: one stray
// path undoes all of it.
//
// # Two ways to conclude
//
// Proof, inbox, switch, commit and second proof make one trip. The proof and the switch are
// statements that fail when anything is wrong, and then the commit behind them is not executed: the
// transaction is rolled back and runs again the careful way, in two trips, of which the first
// says what is wrong. So also when the trip has no answer in its time. What failed before goes the careful way at
// once, as everything does with a proof of the service's own, which needs an answer before the commit,
// and in pgx's simple protocol, because there the log of the server would have the values. Each way has Config.HandleTimeout.
// A refusal is an error in the log of the server too, which begins with "invalid input syntax" and says why: Postgres has no
// assertion. The handler runs once more for a refusal, once more when the database refuses the inbox, and three times
// in all when the transaction loses against others.
//
// # What does not come back
//
// A handler, or a proof of the service's own, that ignores its context is left to itself two settle timeouts after
// the context has ended. Its connection is closed and leaves the pool, so that its transaction ends, it can
// commit nothing any more, and whoever waits for its facts goes on. It is told in the log and by silences, at once
// and at each look, until it comes back. When as many hang as one event may have attempts, and as there are workers
// beside, it is not for their events: the instance asks for nothing, and gives back what it has without counting
// it, until some come back. Nothing but a restart ends a goroutine that hangs.
//
// # Poolers
//
// Every protocol mode of pgx works, also those that a transaction pooler without prepared statements needs
// (default_query_exec_mode=exec).
//
// # Several in one transaction
//
// With Config.Batch events share a transaction. It is a short cut and never a judgement: whatever
// goes wrong in it rolls it back, and each of its events is handled alone. So the tables above hold
// for each event of a batch too.
//
// # Two at a time
//
// Messages of one key are handled one after the other in one instance. Several instances share
// the messages of a consumer, and a message that comes again comes later than those behind it: a
// handler that needs order compares versions. What is held is spoken for, so that a slow handler
// does not lose its message. Two that prune skip each other's rows.
//
// # Replay
//
// A replay is requested, by people or by their tools, and performed here: a dead letter in the state
// replay_requested, and a range of the stream as a consumer on it with -replay behind the name. Both go
// through the claim of the fact, so however often one happens, by whichever instance, and wherever it
// dies, the effect is one. Package [github.com/holdfast-dev/holdfast/consumers/people] has the states and
// the crash table.
//
// # What it never does
//
// It never acknowledges because of an inbox row, never changes or deletes a fact, never changes
// a consumer on the stream by itself, and never logs or stores what is in an event: of an
// error it keeps a code and a digest. The text of errors is logged at debug level only.
package consumers
