// Command payments runs one of two example services as a process: a wallet that a payment provider
// feeds, or a service that grants allowances for placements.
//
//	payments wallet|perdiem -database URL -nats URL [-stream EVENTS] [-batch N] [-quick]
//
// Package wallet and package perdiem are the services, each with its tables, its mapper, its
// handler and the settings of its consumer; main.go is all that a service needs besides.
// docs/consumers.md walks through them.
//
// # What its tests prove
//
//	services     both keep the whole of consumers/consumerstest, and what their own comments promise
//	killed       processes die at each line of the crash table of package consumers, under load, with
//	             another pod beside them; and at random, while the broker and the database restart
//	outage       a consumer that was down for longer than any window, and a dependency that was away for longer than any
//	             number of attempts: nothing is missing, nothing is there twice, nothing is given up
//	poison       a message that can't be handled is written down, and its key goes on
//
// # A crash point
//
// is a file in points/, laid over the source of package consumers in the build that the tests
// start; see package overlay. At the end of each test the effects are counted: facts, entries, the sum of the balances
// and the events that the service staged must all say the same.
package main
