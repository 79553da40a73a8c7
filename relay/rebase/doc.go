// Package rebase makes a log drainable again in a cluster that is not the one it was written
// in: after dump and restore, a logical copy, or pg_upgrade. It is what `relay rebase` does.
//
// A cursor is a snapshot, a set of transaction ids, and the ids of one cluster mean nothing
// in another: old ones may lie in its future, and its own may look like ones that were drained
// long ago. The relay refuses such a database. A rebase translates what the old ids said
// into ids of the new cluster, in one transaction.
//
// # What decides
//
// Among old ids the stored snapshots are still right. An event is drained for a relay group
// when its tx is visible in drained of its lane, or, while a backlog is paged, visible in
// target with seq up to pos. Held events have no position and stay as they are.
//
// Services may have staged events in the new cluster before anybody rebased. Their ids are of
// the new cluster, so no old snapshot says anything about them, and none of them was drained.
// They are told by the system column xmin: the transaction that wrote a row here is
// the row's tx, or a savepoint of it, only if the row was staged here; a restore and a copy
// write the rows of other transactions. This matters when the new cluster's ids are lower than the old
// snapshots reach, which is proven by a lane whose row was written here by a transaction
// that its own snapshot calls finished. Without that proof ids go on from where they were
// (pg_upgrade) or lie above every old one, and then the snapshots are right about all rows.
//
// Where the two cannot be told apart, because old ids and new ones overlap and a transaction
// copied the rows of exactly one other, an event counts as not drained: at worst it is
// published again under the same id. [Plan] counts those.
//
// # The new ids
//
//	drained for                          tx                         drained of a group
//	every group of its lane              its own, or 2              is the snapshot of the rebase, in which
//	                                     if that is not visible     both are visible
//	some groups                          one of 3, 4, ..: one for   counts the ids of the sets that it is
//	                                     each set of groups         not in as running, so it drains them
//	none                                 this transaction           does not have it: it drains them
//
// No transaction that stages events ever has an id below 100, so the small ids belong to the
// rebase alone. target and pos are cleared, for they are now part of drained. Numbers (seq) stay, so
// retries, dead letters, batches and the order of keys stay; only when the sequence was found
// behind the log, as a logical copy leaves it, do events that were staged here get new ones,
// above all others and in their order. Sequences never go back: those that are behind the numbers
// in use are moved forward.
//
// stream_seq stays, for the stream is the same. Every lane is left as if its owner had died, with a
// lease that has ended: the next relay looks back in the stream after stream_seq, and what was
// published after the dump was taken is not published again.
//
// # Who may
//
// The owner of the schema: the relay's own role may not change events. Stop the old relay, and let no
// service write to the old cluster, before the dump or the last copied row. Rebase in every
// cluster in which services have staged, before it is copied on: a second copy leaves no trace of
// where a row was staged.
//
// # Crash table
//
//	dies ...                              then
//	before the commit                     nothing was changed, but sequences may be further
//	in the commit, outcome unknown        the next call says that there is nothing to do, or does it
//	after the commit                      done; repeating it is refused with [ErrNothingToDo]
//	while a service stages                the lock on the log makes it wait, for at most the rebase
//	while a relay has a live lease        refused with [*LiveLeaseError]
//	while the lock cannot be had          refused after Config.LockTimeout; nothing was changed
//
// # What it never does
//
// It never deletes an event, never touches one that is held, a retry or a dead letter,
// never changes what an event says, and never talks to the broker.
package rebase
