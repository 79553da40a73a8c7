// Package reconcile proves what the stream has: an independent reader walks it and compares it
// with the events that the log says are settled. It is what `relay reconcile` does. The relay's
// memory, cursors in particular, plays no part but to say what is settled.
//
// # What is compared
//
// An event is expected in the stream when it is drained for the relay group, does not wait for
// a retry, and is neither a dead letter nor one that was discarded. A window of time is one
// of entering the log: see package position. The stream is read from a little before it to
// its end, because an event may be published long after it was staged. Everything comes from one
// snapshot of the database, taken before the end of the stream is looked up: what is
// settled there was acknowledged before. Where the stream ended before the snapshot is known
// too: what was stored later may be of events that the snapshot does not have.
//
//	in the log            in the stream      class         explained
//	expected              no                 missing       no
//	expected, old         no                 expired       yes: the stream's limits drop what is as old
//	expected              once               present       yes
//	expected              more often         duplicated    no
//	expected              with other bytes   changed       no: data or an attribute differs
//	expected              before an earlier  disordered    no
//	                      one of its key
//	expected              after later ones   late          yes: it was published on its own, as a repair
//	                      of its key                       or a requeued dead letter is
//	held                  yes                held          no: it left before it was released
//	no                    its source is in   foreign       no: it was cancelled after it left, the log was
//	                      the log                          restored, or somebody else publishes
//	no                    from before the    unjudged      yes: the log does not reach back so far
//	                      log was emptied
//	no                    another source,    other         yes: the stream is shared
//	                      or no event
//	                      as MsgID.rN        replayed      yes: `relay replay` published it
//	undrained, waiting,   yes or no          -             yes: it is on its way
//	a dead letter
//
// What the log has forgotten by retention nobody can judge. Foreign is therefore only what was stored
// after the oldest event of the log was staged, and after the last batch of which the log has
// lost an event.
//
// # What is removed while it reads
//
// What was gone before the reading began is judged as the table says. What is deleted or purged between that and the
// moment in which it would have been read is neither missing nor there: nothing is concluded or repaired then, and the
// error says so. With several passes that holds until the last one has read the stream. What the limits of the
// stream drop meanwhile is expired.
//
// # Memory
//
// The log becomes a sorted list of entries of a fixed size (a hash of the id, one of the content, the
// place), in which every message of the stream is looked up as it comes. More events than
// Config.MaxEntries are compared in passes, each with the events of some of the keys;
// every pass reads everything once. With several passes an event whose key was changed in
// the stream counts as missing and foreign instead of changed.
//
// # Repair
//
// Missing events are published again with their ids, in the order of their keys, and then looked
// up in the stream, for an acknowledgement does not prove it: while a stream remembers an id in
// its dedup window, it answers as if it had the message. What is found is recorded as a batch of its own.
//
//	dies ...                     then
//	while it compares            nothing was changed
//	while it publishes           repeat it: what is there already is not missing any more
//	before it records            the event is present; if its key had gone on, it counts as disordered
//
// # What it never does
//
// It never deletes or changes a message or an event, never reports or logs a payload, and
// never publishes what is held, waiting or given up.
package reconcile
