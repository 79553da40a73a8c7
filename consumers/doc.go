// Package consumers states the protocol by which events have one effect each, whatever is
// delivered again. Package [github.com/holdfast-dev/holdfast/consumers/facts] is its arbiter.
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
//	the process dies                          what is left                what the next delivery does
//	before the commit                         nothing                     applies
//	during the commit                         all or nothing              applies, or proves
//	after the commit, before the broker knows fact, effect, inbox         proves and acknowledges
//	after the inbox was pruned, years later   fact, effect                proves, and writes the inbox again
//
// # Rules
//
// All of it is one transaction at READ COMMITTED on one connection, with the claim of the
// fact first and no call to anything outside. Losers wait on the unique index. A unique violation
// that was caught is no success. A message that is given up is written to consumer_dead_letter
// before the broker is told, and an outage gives nothing up. Every writer of effects claims
// facts, replays and repairs too: one stray path undoes all of it.
package consumers
