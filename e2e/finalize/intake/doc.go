// Package intake is a service that owns drafts and applications. An applicant fills in a draft; to
// finalize it, persons, a household, memberships, incomes and assets are made at the registry, and last
// the application here. It is the coordinator of the example: see docs/sagas.md for a walk through
// it, and finalize.go first.
//
// # Finalizing
//
//	claim      locks the draft, then the operation; pins today's date, the time of reception and a
//	           digest of the form
//	register   at the registry
//	steps      person:0, household, member:0, person:1, member:1, ..., income:0, ..., asset:0, ...
//	commit     application written, draft deleted, application.filed staged, operation completed:
//	           one transaction, without a call
//	release    at the registry
//
// The id of the draft is that of the operation and that of the application. So a form that is sent
// twice, to two replicas, after a time-out or years later, gives one application and one answer.
//
// # Who waits for whom
//
// The draft is locked before the operation, here and in the reaper of drafts. No lock, transaction or
// connection is held while the registry is called.
//
// # What a client gets
//
//	200   the application; the same bytes whenever it is asked again
//	404   there is no such draft, or it has expired
//	409   another form is being finalized under this id
//	422   the form cannot be meant
//	502   the registry refuses; the operation is undone and can be started anew, after a while
//	503   not yet: repeat it, after Retry-After
//
// # What it never does
//
// It never keeps what the form says about people: the operation has ids, times and a keyed digest. It
// never logs a form.
//
// Who may finalize which draft is left out, to keep the example small: it listens on loopback.
package intake
