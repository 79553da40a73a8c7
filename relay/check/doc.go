// Package check looks at everything that a relay depends on, and says in one line per fact
// what is wrong and what to do about it. It is one engine for `relay check`, for the detail of
// readiness, and for the start of a relay, so that the three cannot disagree.
//
// # How it works
//
//	gather   database: one connection of its own, a few statements that only read
//	         broker:   one connection of its own, a few requests that only read
//	judge    every check is a pure function of what was gathered
//
// Both are gathered at the same time. A check that needs what another one found broken is
// not made, so that one fault gives one line and not twenty.
//
// # Severities
//
//	ok     as it should be
//	warn   works, and will hurt some day; does not make a set-up unhealthy
//	fail   does not work, or loses events
//	skip   not made: something that it needs is broken, or it cannot be known from here
//
// A check that is allowed by name counts one step less: fail becomes warn, warn becomes ok.
//
// # What refuses a start
//
// [Start] makes only the checks that a relay must not start against, because it would lose
// events or repeat them: acknowledgements off, interest retention without a consumer,
// asynchronous persistence, a dedup window that is too short, limits below what the schema
// accepts, subjects outside the stream. A stream that does not exist is none of these: a
// relay waits for it. It is one look; what somebody changes later is for [Run] to find.
//
// # What cannot be known from here
//
//   - How often the server syncs to disk: a client is not told. The check sync says so.
//   - Whether the user may publish: JetStream has no way to ask about a subject, and a probe
//     would be an event. The server tells a user its own permissions on request; where that
//     request is forbidden too, the check publish-permission is skipped.
//   - Whether two live pods have one name: they share one row. The check owner sees that the
//     configured name is taken before this pod has taken it.
//   - The transactions of other roles, without pg_read_all_stats.
//
// # What it never does
//
// It changes nothing: it publishes nothing, takes no lane, and its findings hold no
// payload and no password.
package check
