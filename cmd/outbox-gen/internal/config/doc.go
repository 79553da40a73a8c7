// Package config reads outbox-gen.yaml.
//
//	version: 1
//	defaults: {tool: goose, schema: outbox, lanes: 16, retention: {slots: 4, period: 24h}, max_event_bytes: 1000000}
//	services:
//	  - {name: orders, dir: services/orders/migrations, components: [outbox, hold, relay]}
//	  - {name: billing, dir: services/billing/db/migrate, tool: golang-migrate, components: [outbox, relay]}
//	  - {name: "*", dir: "apps/*/migrations", components: [outbox, relay]}
//
// A service may have every key of defaults too, and go, the path of a Go file for the
// constants of its schema. In dir the signs * ? and [ make a pattern, which stands for every
// folder that it matches; in name and go each * then stands for what one part of
// the path with such signs was, from the left.
//
// # What it promises
//
//   - Every problem is reported, not the first one only, with file, line, column and hint.
//   - A key that does not exist is a problem, with the key that was perhaps meant, because it
//     is a choice that somebody believes in.
//   - Texts are taken as they are: nothing in them is expanded but the patterns.
//   - Aliases of YAML work; merge keys do not.
//
// # What it never does
//
// It writes nothing, and reads nothing but the file and the names of folders below it.
package config
