// Package check holds the invariants of a consumer's database as a catalog of queries: what must never be
// true of facts, effects, dead letters and quarantine. It is what `relay consumer check` does, in a
// pipeline, at night, and as the gate before intake is opened again.
//
// # How it works
//
// Each invariant is one query that finds what breaks it, the worst first, and counts it. All of them
// read one snapshot: REPEATABLE READ, read only, rolled back. The catalog is [Catalog]; an invariant about
// effects needs the description of their table, and is made once for each description.
//
//	verdict  means
//	held     the query found nothing that is older than the grace
//	broken   it found something; examples are ids only
//	unknown  it could not be made: rights, a statement timeout, a column. A gate takes it for broken
//
// # Grace
//
// What one transaction writes is never half there, so a fact without an effect has no grace. What waits
// for a person has some: see the catalog. The clock is that of the database.
//
// # What it never does
//
// It changes nothing, repairs nothing, and shows no amount and no payload. It does not know what legal
// means beyond its catalog: a shape that a service allows is left out by the description (only, marker),
// and never by a wider query.
package check
