// Package effects is the small description of a service's own table by which the tools of this room know
// where effects are: which rows tell a fact, what identifies it, and what a repair may do. It is what
// `relay consumer check`, `reconcile` and `repair` read from a file; docs/effects.md has every field.
//
// A description names tables, columns and constants, and has no SQL: every name is quoted, every
// constant is a literal, and [Inspect] compares all of it with the catalog before anything else is done.
// What an operator may write here can therefore read the wrong column, and cannot run a statement.
//
// # The key
//
// The same text as facts.NewKey makes, built by the database from the columns of a row:
//
//	refund=re_1/start=2026-01-31
//
// so a row, its fact and a line of a provider's export meet in one key. A row without one of its parts has
// no key: a unique index would not constrain it, so the tools name it and do not guess.
//
// # What it never does
//
// It changes nothing, and knows no value of a row.
package effects
