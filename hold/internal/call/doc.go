// Package call is what every call of package hold and its subpackages has in common: the
// statement for a database schema, the arguments that are refused before anything is
// sent, and the meaning of what the database answers when it refuses.
//
// It promises that an error of the database stays in the tree of the error that explains
// it, so that the SQLSTATE can still be read, and that it decides by the SQLSTATE, never by
// the text of a message. It has no state.
package call
