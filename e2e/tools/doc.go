// Package tools proves that the files of outbox-gen are what the real migration tools want: each
// tool, as the library that its command is made of, runs them on a real Postgres, and the
// database is then the same as the one that gen.Install makes, to the last byte of a
// function body.
//
// It is a module of its own, because the tools bring hundreds of modules that no user of
// Holdfast should see, not even in go.sum. It holds tests only.
//
//	tool            library                                 way back
//	goose           pressly/goose v3, pgx                   refused by the Down section
//	golang-migrate  golang-migrate v4, pgx                  refused by the down file
//	tern            jackc/tern v2                           refused by tern
//	dbmate          amacneil/dbmate v2, lib/pq              refused by the migrate:down section
//	atlas           ariga.io/atlas sql/migrate, pgx         has none
//	flyway, plain   psql: flyway is no Go library           have none
//
// Each tool also runs the migration that takes over an older outbox, and three of them
// migrate the example fleet in e2e/fleet, whose events relay processes then drain.
package tools
