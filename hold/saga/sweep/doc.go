// Package sweep undoes orphans: entities that an operation made and nobody owns, from the time before
// the participant had receipts. It runs in the participant's database, once, by an operator's hand.
//
// The service says what an orphan is, by a query with two halves: nothing owns it, and it bears a mark
// that only this flow has ever written. It says how one is undone, by an [Undoer]. [Sweep.Plan] writes
// down what there is as a [Manifest], people review it, and [Sweep.Apply] acts on what they have seen.
//
// # States of a candidate
//
//	           not younger than the quiet time, no receipt
//	(found) ------------------------------------------------> planned
//	    |  \    without the mark
//	    |   \-----------------------------------------------> ambiguous
//	    | a receipt covers a part of it, or it is young
//	    \---------------------------------------------------> left out, and counted
//
//	planned   -- still the same, still marked, no receipt --> undone, or quarantined by the service
//	planned   -- a receipt, an owner, other parts ----------> skipped
//	planned   -- the mark has gone -------------------------> quarantined
//	planned   -- the service's statement fails -------------> failed; the next run tries again
//	planned   -- nobody tells what became of its commit ----> unknown; the next run asks
//	ambiguous ----------------------------------------------> quarantined
//
// Quarantined means left intact, for a person to look at. All but failed and unknown is final in its
// manifest; who wants it judged anew plans anew.
//
// # Who is authoritative
//
// The database, at the moment of acting. The manifest is what may be acted on, never what must: each
// candidate is judged again in its own transaction, under the lock of the service, in statements that
// see what was committed before the lock was had. A receipt of any generation, or a line of the
// quarantine of compensation, on any entity of the candidate keeps it: an operation that lives always
// has one. The clock of the database judges the quiet time. Whether a transaction was committed
// is asked of the database by its id and by the query, never concluded from an answer that did not come.
//
// # The manifest
//
// A file that is written once and sealed: its last line is the SHA-256 of the others. It names
// the cluster, the database and the schema, and holds the service's statements themselves, so what was reviewed
// is what runs. Apply wants the seal from whoever reviewed it: a file that was changed and sealed anew is
// another one.
//
// # The results file
//
// One line for each thing that happened, on the disk before the next thing does:
//
//	the run begins     who, why, and the seal of the manifest
//	before a commit    the candidate, the id of the transaction, and what it does
//	after it           the candidate and what became of it
//
// # Crash table
//
//	dies                                          is found afterwards, and the next run
//	before the line that precedes the commit      nothing; judges it again
//	between that line and the commit              a transaction that was rolled back; judges it again
//	while the commit is on its way                one that goes on; waits for its end, or says to come again
//	between the commit and the line behind it     one that was committed; writes the line, and does not act
//	(no answer, and none when it is asked for)    any of these; the line says unknown, and the run ends
//	in the midst of a line                        half a line, which counts as none
//
// An id names a transaction in one history of the database: after a restore to an earlier time, or a failover that
// lost commits, another one gets it. So an undo counts as committed only if the query finds no part of its
// candidate any more; if it does, the candidate is judged again. A transaction of which the database no longer
// knows the end, or never heard, leaves its candidate to a person. Two runs of one results file: the second is refused. Two runs
// with two results files: the lock of the service lets one go first, and the other finds no candidate.
//
// # Who may
//
// Acting wants a login of its own: no superuser, not the owner of the schema, and no producer, which is what the
// service logs in as. It needs the rights of the role operator, and those to call what the service gave.
//
// # What it never does
//
// It never acts on what has no mark, never on what is not in the manifest, never writes a name, a
// text of an error or anything but ids, codes and counts, and never commits an undo after which its
// candidate is still one.
package sweep
