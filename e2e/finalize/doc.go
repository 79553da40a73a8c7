// Finalize is the example that docs/sagas.md walks through: two services, each with a database of its
// own, that finalize an applicant's draft together.
//
//	intake      owns drafts and applications; it is the coordinator
//	registry    owns persons, households, memberships, incomes and assets; it is the participant
//
//	DATABASE_URL=... TOKEN=... go run ./e2e/finalize registry -listen 127.0.0.1:8081 -install
//	DATABASE_URL=... TOKEN=... DIGEST_KEY=... go run ./e2e/finalize intake -listen 127.0.0.1:8080 -registry http://127.0.0.1:8081 -install
//
// Each runs until it is told to stop. DIGEST_KEY is 32 bytes or more. A relay for each database
// (cmd/relay) moves the events to JetStream.
//
// # The acceptance suite
//
// The tests of this folder are about the whole: real databases, HTTP between the services, a relay
// for each outbox, a NATS server, and a reader that keeps every message and asks, at the moment
// when it comes, whether its operation is completed. What they prove:
//
//	TestCriterionA      one operation, however many run it: one result, one graph
//	TestCriterionB      a retry after a lost answer gets the first answer, and writes nothing
//	TestCriterionC      failure after each step: a retry finishes it, or compensation undoes it
//	TestCriterionD      reaping cannot race a live operation
//	TestCriterionE      what is stuck can be seen, and be mended
//	TestCriterionF      every remote write has an identity and can be repeated
//	TestCriterionG      no lock and no transaction is held across a call
//	TestCriterionH      concurrent, timeout after commit, failure in the middle, restart, reaper:
//	                    on real processes that are killed
//	TestCriterionI      orphans of the time before are found and erased, without personal data
//	TestFailureMatrix   every failure at every step
//	TestFinalizeStorm   random clients, crashes, slow and lost answers, reapers and reconcilers, and then
//	                    one result or none per operation, and nothing left over
//
// # What it never does
//
// It listens on loopback only, and touches no database that it was not given.
package main
