// Package relay moves committed events from the outbox to NATS JetStream: drain, publish,
// settle. Every event that a transaction committed is published at least once, in the
// order of its key, and never while it is held.
//
// # Who is authoritative
//
// The database is. A relay pod keeps nothing that cannot be forgotten: what was
// drained stands in outbox_lane, who may drain a lane stands there too, and both are
// judged by the clock of the database. The stream's acknowledgement, and nothing else,
// says that an event is stored.
//
// # The cursor
//
// Sequences and transaction ids are handed out before commit, so neither a number nor
// an id says what has been seen. A lane remembers a snapshot instead: drained, the set
// of transactions all of whose rows in the lane have been settled. A row is a
// candidate when its transaction is not in that set:
//
//	tx >= xmax(drained)  or  tx = any(xip(drained))
//
// Both are ranges of the index on (lane, tx), so a read costs what is new: not what is
// held, retained or dead, nor how long the oldest transaction has been running.
//
//	     no candidates: drained = S (in memory)
//	   +--------------------------------------+
//	   v                                      |
//	idle --- up to N candidates in S ---> round: sort by seq, publish, settle drained = S
//	   |                                      ^
//	   |                                      | short page: settle drained = target, target = null
//	   +--- more than N candidates ----> paging: target = S; pages of N by seq;
//	                                     each settles (target, pos)
//
// Order within a key holds because the producer serialises the writers of a key:
// when A is committed before B is inserted, every snapshot that shows B shows A, and
// seq(A) < seq(B). A release gives its events a new transaction and new numbers, so
// they enter as new rows.
//
// # Incarnations of the server
//
// A snapshot means something in one life of the server only: from its start, or the end of
// a crash recovery, to the next. A server that crashed, or a standby that took over, may
// hand out again the ids of transactions whose WAL was lost, such as aborted ones and
// settles, and a snapshot from before calls them finished. A stored cursor shares the
// fate of that WAL; one in memory must not outlive it. So a lane remembers the incarnation
// it was claimed in, every read says which one answered it, settles and renewals
// are judged against it within their statement, and a lane of another incarnation is
// forgotten and claimed again with the stored cursor.
//
// # Another cluster
//
// Transaction ids mean nothing in another cluster. The statements that claim lanes and
// waiting events give nothing there, so that a relay whose database was replaced under its
// address ends once it has lost its lanes with the incarnation, and publishes nothing of
// the copy. A start also refuses ids that the cluster has not given out yet.
//
// # Lanes and leases
//
// A key lives in one lane. A pod owns lanes through leases: rows claimed with FOR
// UPDATE SKIP LOCKED in a transaction of one statement, each claim with a fresh token.
// A pod owns at most ceil(lanes / live pods), hands lanes back when pods join and when
// it stops, and loses them when it does not renew. Whoever sees free lanes beyond its
// share renews at once, to learn whether the share has grown. Renewal has a goroutine and
// connections of its own, and goes on while a stopping pod finishes its batches. Every
// settle names its token and demands a live lease; zero rows means that the lane is
// lost: its state is forgotten and nothing more is published for it.
//
// # Waking up
//
// Polling finds everything: one statement for all idle lanes, whose interval adapts to
// what it finds. A wake-up of a producer, over core NATS or by NOTIFY, only makes the next look
// come sooner; it is never needed, may be lost, repeated or forged, and many of them
// cost few looks. A subscription that is refused, or a listener that hears nothing, is told
// once, and the relay polls.
//
// # Publishing
//
// Within a lane an event is in flight only if no earlier event of its key has an unknown
// or failed outcome. There are two publishers, and [ChoosePublisher] says which is used:
//
//	async  an acknowledgement for each event; one event of a key in flight
//	fast   an acknowledgement for a batch, which the stream stores up to the first gap
//
// A batch goes fast only while nobody can have published of it before: in its first attempt, and not
// while the lane looks back. What breaks it proves nothing, and all its events go async, at
// once and with the same ids. While a page of a backlog is published the next one is read, and
// not published before the first is settled. The outcome of each event is one of
//
//	stored       an acknowledgement from the expected stream for its id
//	unknown      no answer: timeout, disconnect
//	refused      the broker refused this event for itself
//	unavailable  everything else: nothing is wrong with the event
//
// Unknown and unavailable are published again, with the same ids, after a capped and
// jittered pause, for as long as it takes; nothing is written and nothing is
// counted against the event. docs/errors.md has the table of what comes back and what it
// means. No answer at all may mean that nobody stores the subject and somebody else
// listens on it, so the stream is asked.
//
// A refused event goes, in the statement that settles its batch, to where it waits for its
// retries, and later events of its key wait behind it: in the same batch, and in later
// ones, whose keys are compared with what waits. Other keys go on. Package retry has
// the rest of its life.
//
// # A lane that was not handed back
//
// Its last owner may have published what it did not settle. Every settle, and every renewal
// of an idle lane, stores a stream sequence before which nothing unsettled of the lane
// can be. Whoever takes the lane over reads the ids that the stream has after it, and
// does not publish those again, so the stream gets no second copy however long the
// outage was. A lane that leaves a pod before it was drained past that point goes to an
// owner who looks back as well. Only ids that the lanes have not settled are kept, however long the stream
// is. The look-back ends where the leader of the stream says that it ends, whichever replica it reads from; where that is
// not reached, nothing is published and it begins again. The dedup window remains the belt against what the dead
// owner still had on its way.
//
// # Parts
//
// A relay is a scout that looks for events, a steward that keeps leases, a probe that asks for
// the stream, a retrier, those that take wake-ups, and a drain for each busy lane. None may be
// missing in silence: one that panics or ends by itself stops the others in order, and Run
// returns a [*PartError]. A lane whose drain died is left to its lease. Looking and claiming
// never waits for a lock of another relay.
//
// # Crash table
//
//	dies ...                        then
//	before publish                  the lease ends; the next owner reads the same rows
//	between publish and ack         the next owner looks back and publishes what is not there
//	between ack and settle          the next owner looks back and settles
//	in a settle, outcome unknown    either the cursor moved or it did not; both are correct
//	after settle                    nothing is lost: the cursor is in the database
//	settle lost with the server     the incarnation is another: the lane is forgotten and read again
//	lease lost while publishing     the settle fails on its token; the new owner looks back
//
// # What can be seen of it
//
// Metrics and traces go to the OpenTelemetry API and never hold up the work. A counter counts what this
// pod did; a gauge shows what the database had when it was measured last, by every pod and at a
// bounded cost, and shows nothing when that is long ago. Labels are the lane, the class and the
// outcome. An attempt is a trace; an event's spans in it are linked to the context that
// the event carries, which is never changed.
//
// # What it never does
//
// It never changes or deletes an event, never migrates a schema, never publishes over
// core NATS, never holds a transaction or a lock while it waits for the network, and
// never logs a payload.
package relay
