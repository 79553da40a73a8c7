// Package completion has the command that lets shells complete ours: it knows the shells, and how
// each is told to.
package completion
