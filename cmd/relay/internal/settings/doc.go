// Package settings is the configuration of the relay's command line: one struct, [Settings],
// from which the variables, the flags, the printed values and the environment file
// are all made, so that they cannot tell different stories.
//
// # Where a value comes from
//
//	flag  >  RELAY_X or the file named by RELAY_X_FILE  >  a standard variable (NATS_URL, PG*)  >  default
//
// An empty variable counts as not set. RELAY_X and RELAY_X_FILE together are an error, since
// one of them would be ignored.
//
// # What it promises
//
//   - Values are taken as they are: no $ is expanded in them.
//   - Every problem is reported, not the first one only; each says what to do.
//   - A RELAY_ variable that does not exist is a problem, because it is a
//     setting that somebody believes in.
//   - Secrets are read from variables and files and never from flags, which every user
//     of a machine can see. They are never printed, and neither is a connection string that
//     cannot be understood, because nobody knows where the password in it is.
//
// # What it never does
//
// It connects to nothing, changes nothing, and reads no file but those that are named.
package settings
