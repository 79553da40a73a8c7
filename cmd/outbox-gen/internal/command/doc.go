// Package command is the tree of commands: one file for each, registered in [Tree], and what all
// of them have in common: help, flags, errors with a status, interruption.
//
// # What every command promises
//
//   - Standard output is data, standard error is everything else.
//   - An interrupt stops before the next file; what a write has begun to rename, it finishes.
//   - An error says what was being done, and what a person can do about it; with -o json
//     it is JSON.
//   - No migration that exists is changed, whatever is in it.
//   - Help says what a command changes and what it never does, and has an example that a
//     test runs.
package command
