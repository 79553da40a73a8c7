// Package perdiem is a service that grants a worker an allowance for a placement, once, and uses
// consumers as docs/consumers.md teaches. Read perdiem.go first.
//
// # What may never be granted again
//
// A placement that has ended can't begin again. So a placement.activated that comes once more is a
// replay, however late, whatever became of the allowance: ended or void, its row keeps the
// place of its fact, and the index over it asks for no status. A later placement of the same worker
// has another start, which is in the payload and not a date of processing.
//
// Activation and end may come in any order. Both lock the row of the placement, so that whichever is
// second knows of the first, and a placement that had ended before it began is granted nothing
// to be paid.
//
// # What is looked up
//
// The amount depends on the rate of the region, which another service tells in rate.set. While it is
// not known the event waits, and no attempt is counted. A replay must not wait for it, and must not
// be compared with a rate that has changed since: the probe recognises it by its payload alone.
//
//	event                fact           effect
//	placement.activated  allowance      perdiem.allowance
//	placement.ended      placement_end  perdiem.ending, and the status of the allowance
//	rate.set             none           perdiem.rate, which comes out the same however often
package perdiem
