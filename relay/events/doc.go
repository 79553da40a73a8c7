// Package events shows people the events of the log: which there are, in which state each of them is for
// a relay group, and what became of it. It is what `relay event` reads.
//
// The roles of people may not read the log and the dead letters but through views without the
// payload; the relay's role may read the tables. A [Reader] takes what its login may read. The payload is
// asked for by [Reader.Data] alone, which the views do not have.
//
// # States
//
//	held       it waits for the decision about its generation
//	waiting    a relay has still to publish it, or it was refused and waits for a retry, or behind one
//	published  it is settled: the broker acknowledged it
//	dead       it was given up and waits for a decision
//	discarded  somebody decided that it is never published
//
// # Cost
//
// The log has no index on the ids of events: [Reader.Find] reads it as a whole. [Reader.List] goes from
// the newest event back and ends when it has found enough. Nothing is changed.
package events
