// Package tool knows how each migration tool wants its files: their names, the order that
// it runs them in, the lines that fence a statement or a direction, and what it would
// make of a text that is not meant for it.
//
// # What the tools have in common
//
// A migration has a number, a description and one or more files. Ours are forward-only,
// because events live in the tables that they make: every way back that a tool offers is
// closed by SQL that raises an error with the reason.
//
//	tool            names                       order           way back
//	goose           N_name.sql                  numeric         Down section that raises
//	golang-migrate  N_name.up.sql, .down.sql    numeric         down file that raises
//	tern            N_name.sql, no gaps         numeric         none: tern refuses by itself
//	dbmate          N_name.sql                  by file name    migrate:down section that raises
//	flyway          VN__name.sql                by its parts    none: flyway refuses by itself
//	atlas           N_name.sql, atlas.sum       by file name    none: atlas plans it from a target
//	plain           N_name.sql                  by file name    none
//
// goose, golang-migrate and dbmate take a missing way back for an empty one: they would
// forget that the migration ran, and leave the tables. That is why it raises there.
//
// It reads and writes no file.
package tool
