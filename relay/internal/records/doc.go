// Package records reads events of the log by their places, so many bytes at a time that a program
// which publishes them again needs no more memory than that.
package records
