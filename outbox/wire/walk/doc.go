// Package walk reads a stream from a message of it to where it ended when the reading began.
//
// # What it promises
//
// Each message that lies between the two and stays there is handed on once, in the order of the stream. It
// never waits for ever, and it never takes silence for the end:
//
//	what happens while it reads                  then
//	the last messages are deleted or expire      it ends behind what is left; a replica that lags may still have some
//	the stream is purged                         it ends
//	the connection or the consumer is lost       it goes on behind the message that came last
//	the replica that it reads from lags          it waits for it, and tries another one
//	the stream is deleted                        [*EndError], at once
//	the stream is made anew, or loses its end    [*EndError]
//	no message comes, and the end is not there   [*EndError], after [Config.Patience]
//	ctx ends                                     its error
//
// # Where a stream ends
//
// The broker is asked for the last sequence when the reading begins; its leader answers. The messages come from a
// consumer, which may lie on another replica, and that one may not have all of them yet. So it is no end that
// nothing is pending there. The end is a message with the last sequence or a later one; or that nothing is
// pending, and nothing on its way, for a consumer that lies beside the leader. The broker puts each new consumer on
// any of the replicas, so another one is made until that is so.
//
// # Work queues
//
// A work queue has no consumer that only reads. Its messages are asked for one by one, of the leader, which is slow
// and takes nothing away from the workers.
//
// # What it never does
//
// It acknowledges nothing and changes nothing in the stream. The consumer that it reads with is removed at the end. Where
// messages stay for those that are interested in them, the consumer keeps them as long as it is there; one that cannot be
// removed, as when the broker is away, the broker removes after a minute.
package walk
