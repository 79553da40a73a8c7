// Package wire is how the control surface of holds looks in HTTP: its paths, headers, bodies
// and problems. Server (package holdhttp), client (package holdclient) and the services whose
// writes are steps of an operation share it, and nothing of it is written twice.
//
// It promises that names and types are only ever added to, that a reader ignores members it
// does not know, and that no type holds a payload, a credential or the name of a person: ids,
// states, counts and times only. It opens no connection and has no state.
package wire
