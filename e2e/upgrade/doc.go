// Package upgrade proves that a database with data in it gets from each version of the schema to
// the next, under load, while an old and a new relay run. It holds tests only.
//
// # Releases
//
// A release is the programs as they are at one state of the schema: an outbox-gen, which has the
// migrations, and a relay, which knows what it expects. One is this tree. Any other one is this
// tree with some files replaced, by the go command's overlay: those below testdata/NAME/tree,
// which lie there as they lie in the repository; a file whose name ends in .removed is one
// that the release does not have. testdata/NAME/snapshot.json adds objects to what the relay
// expects, or with null takes them away.
//
// # What an upgrade is
//
//	the old release installs; testdata/seed makes data of every kind
//	an old relay runs; services stage, hold and release, and never stop until the end
//	a new relay refuses the old database
//	the migrations run, each in a transaction that gives up after a short wait for locks
//	a new relay starts; both run
//	the old relay stops cleanly; the services of the old release go on; an old relay refuses
//	what was held and dead before the upgrade is released and requeued after it
//
// Then every event that was committed is in the stream once, in the order of its key; the data
// from before is as it was; outbox-gen verify of the new release finds nothing; and no statement
// of a service failed.
//
// # When a version is added
//
// TestEveryVersionHasAnUpgrade fails until there is an upgrade from each earlier version. For that,
// testdata gets a release for the state before: the new files as .removed, and in
// snapshot.json, with null, the objects that they add; see docs/schema-changes.md. Until the first
// such version there is one upgrade, to a release that does not exist and has a second version
// of every component.
package upgrade
