// Package command is the tree of commands: one file for each noun, and what all of them have
// in common: help, flags made from the settings, errors with a status, interruption.
//
// # What every command promises
//
//   - Standard output is data, standard error is everything else.
//   - The first interrupt stops cleanly, the second one at once.
//   - An error says what was being done, and what a person can do about it; with -o json
//     it is JSON.
//   - A command that changes something shows what before it asks, and asks
//     before it does it. Without a terminal it wants --yes.
//   - Help says what a command changes and what it never does, and has an example that a
//     test runs.
package command
