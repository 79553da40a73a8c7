// Command chaos puts random load on relays and consumers while everything that they depend on is broken
// at random, and then judges what arrived, and what was made of it, with package history.
//
//	make chaos                            one minute, a fresh seed, which is printed
//	make chaos SEED=7 DURATION=300s       the schedule of that seed
//	go run ./e2e/chaos -setup single -race
//	go run ./e2e/chaos -only postgres_crash,relay_kill
//
// There are two set-ups, and each gets half of the duration: three relays against one
// nats-server, and three relays against a JetStream cluster of three nodes with a
// replicated stream. Two consumers make a fact and an effect of each event, in a database of their own.
// Relays, consumers and servers are processes of their own. Every connection of a relay or a
// producer, and of a consumer to its database, goes through a proxy of package fault.
//
// # What it does
//
//	load     producers stage events of keys with rising versions, in transactions that commit,
//	         roll back, roll back to a savepoint, take long, or lose the answer of their
//	         commit; and operations whose events are held, and released or dropped, by
//	         several callers at once; some are never decided
//	faults   see Kind: relays are killed, stopped and made to stand still; acknowledgements
//	         are cut off, swallowed, doubled, delayed; publications vanish or get errors;
//	         links stall, slow down, refuse, lose everything; settles and commits lose their
//	         answers; statements fail; Postgres crashes or is read-only; nodes of NATS are killed,
//	         leaders step down, and a server gets an earlier copy of its store
//	         consumers are killed, stopped and made to stand still, and lose connections and the
//	         answers of their commits
//	clocks   each relay's wall clock is wrong by up to twelve hours: see fault.SkewedClock
//	heal     all faults end, everything runs again, and what may leave must arrive: a busy machine
//	         may take long, and may not stand still. If a store was rolled back, relay reconcile
//	         must put back what is gone, and find nothing else; and the consumer on the stream is made
//	         anew, so that everything is delivered again. Then the consumers catch up
//	judge    every invariant of package history; besides, no relay and no consumer may have ended by
//	         itself, raced, or told a payload or a credential to its log, its metrics or the log
//	         of Postgres, where all statements of one relay are, with their parameters
//
// # What repeats
//
// The schedule of faults and each producer's decisions are functions of the seed alone:
// -plan prints the schedule. What meets what is up to the scheduler of the
// machine, so a failing seed repeats its schedule, and most often its failure.
//
// It ends with one line, CHAOS {json}, with the seed, the events, the faults by their kinds and the
// violations of each invariant, and status 1 if anything was violated or could not be judged; then
// the logs and the record stay where it says.
package main
