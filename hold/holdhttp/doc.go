// Package holdhttp is the control surface of a participant's holds over HTTP: coordinators
// register, release and cancel generations and look at operations. [Handler] is what the
// service mounts; the names of paths, headers and problems are in package wire, the client is
// package holdclient.
//
//	POST /v1/internal/operations/{operation}/{generation}/register
//	POST /v1/internal/operations/{operation}/{generation}/release
//	POST /v1/internal/operations/{operation}/{generation}/cancel
//	GET  /v1/internal/operations/{operation}
//	GET  /v1/internal/openapi.json
//
// # Who may call
//
// Each request is asked, in this order, and the first no ends it:
//
//	who is it?              an [Authenticator] says so                       401
//	is it a service?        it has the role of services, and                 403
//	is it this one?         its exact name is on the allow-list              403
//	does it call too much?  every caller has a rate of its own               429
//	is there such a call?                                                    404, 405
//	is it its generation?   an active generation belongs to the principal    403
//	                        that registered it
//
// The order matters: a caller that is not known is not told which routes there are. There is no
// anonymous mode, also not for the description, and [New] refuses a configuration without an
// authenticator or without anybody who may call. The party that a token was issued to (azp)
// is never looked at.
//
// An operator is a caller with the operator's role: it needs no place on the allow-list, and
// decides about the generations of everybody. There are none unless the configuration names
// the role.
//
// The allow-list is that of the surface. Kinds of operations with different coordinators get a
// surface each: a kind that a request claims for itself would prove nothing.
//
// # Whose generation it is
//
// The principal of a generation is who registered it. Nobody else, but an operator, releases,
// cancels or registers it while it is active, or puts a later generation in front of it. It is
// judged in the transaction of the decision, which holds the lock of the generation. One that is
// decided answers everybody who may call, and changes for nobody.
//
// # Crash table
//
//	dies                                 is found afterwards
//	before the database committed        nothing of the call
//	after it, before the answer arrived  the change, with its audit; the repeated call gets
//	                                     the same answer with changed false
//	while a cancel compensates           cancelled; the repeated call goes on with the rest
//
// Every call is safe to repeat after an unknown outcome. A caller that goes away does not stop
// its call: it goes on until it ends or its time is over.
//
// # What it never does
//
// It never listens by itself, follows no header about who the caller is but the credentials,
// puts nothing of an error into an answer, never logs a credential, a body or a reason, and
// never keeps a transaction open over a call to another process.
package holdhttp
