// Package repair makes a table of effects fit for its unique index: it repairs historic duplicates that
// nobody can have an opinion about, and refuses everything else. It is what `relay consumer repair` does,
// in a quiesced cut-over.
//
// # One transaction
//
//	step       what happens                                             what ends it
//	settings   no statement timeout, a lock timeout, ISO dates, no RLS  -
//	lock       the table against writers, those that name it, lanes     a lock that does not come: 55P03
//	switch     the group must be paused                                 ErrRunning
//	preflight  every key with more than one row is put into a shape     any shape but identical: RefusedError
//	events     unpublished events of rows that go are removed           -
//	ledger     a row of consumer_repair with a snapshot for each        -
//	repair     rows are removed; or marked, and reversed                a reversal that exists: RefusedError
//	facts      each effect that counts gets its fact                    a fact that says otherwise: RefusedError
//	assert     no key has two rows, no effect is without a fact         AssertionError
//	index      the unique index is built, or proven to be there         23505, another shape: IndexError
//	catalog    the index is valid, ready and unique                     AssertionError
//
// Whatever ends it changes nothing: the transaction rolls back. A process that dies before the commit has
// changed nothing; one that dies after it has changed everything, and the next run finds nothing to do.
//
// # Shapes of a key with more than one row
//
//	identical   same columns as described, untouched, named by nobody, nothing published   repaired
//	differs     columns that must be equal are not                                         a person
//	touched     a row is not as it was made                                                a person
//	referenced  another table names a row                                                  a person
//	claimed     a row that is not the first has a fact                                     a person
//	published   an event of a row that would go has left, may have, or is in the log no more a person
//	reversed    a reversal of a row exists already                                         a person
//	keyless     a row lacks its account or a part of its key, or has an empty one          a person
//
// The first row by (created, id) stays. Of the others the ledger has who they were: it is the attribution.
//
// # Money
//
// With a marker nothing is removed. A duplicate is marked superseded_duplicate, which says how it counts and
// changes nothing else of it, and a reversal takes it back: a row of its own, with a fact whose key has the
// duplicate's id, so that it cannot happen twice and several duplicates never share one. The index has the
// marker in its predicate, and rows of writers that do not know the marker fall inside by its default.
//
// # What it never does
//
// It never links two effects to one fact, invents no effect, drops no valid index, changes no row that it
// was not asked about, and its report and its errors have ids and never a value of a row.
package repair
