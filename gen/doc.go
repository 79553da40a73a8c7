// Package gen puts the canonical schema where it belongs: into a database, and into the
// migrations of services; and it says what a database has.
//
// Install runs the canonical files in one transaction under an advisory lock, so that
// of several processes one installs and the others find it done. A database is
// left as it was when anything fails.
//
// It never changes an object that exists, and never goes backwards.
package gen
