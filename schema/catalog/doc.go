// Package catalog compares a live database with the canonical schema, by what the catalog of
// the server says and not by what the migrations recorded.
//
// A catalog is read as facts: an object, a property, a value in the server's own words,
// such as (constraint event_outbox.event_outbox_held, definition, CHECK (...)). Both sides
// of a comparison come from a server of the same major version, so that equal text means
// equal objects:
//
//   - [Scratch] runs the canonical files in a new database schema of the same server, in a
//     transaction that is rolled back, and reads that;
//   - [Snapshot] takes it from a file of this package that was made the same way, for a
//     role that may not create database schemas.
//
// # What it promises
//
//   - Everything that changes behaviour is compared: domains, columns, constraints, indexes,
//     partitions, sequences, functions, views, triggers, rules, row security, storage
//     settings, rights of PUBLIC.
//   - [Compare] reports each [Difference] once, where it can be mended, with the statement
//     that mends it.
//   - Only what bears one of our names is judged. Other objects in the same database schema
//     are reported only when they change what ours do: a trigger, a constraint, an index, a
//     rule or a policy on our tables, a table that inherits from one of them, a foreign key
//     on one of them, a function of the same name.
//   - Reading takes one statement in one read-only snapshot. It needs no right but to
//     connect, leaves no trace in the session, and works through a transaction pooler.
//
// # What it never does
//
// It changes nothing in the database, and mends nothing itself. It does not look at data,
// at the order of columns, at comments, at tablespaces, nor at who owns what as long as
// the functions and views that run as their owner can reach our tables.
package catalog
