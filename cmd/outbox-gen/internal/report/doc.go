// Package report writes what was compared and what was changed: as text with unified
// differences for people, as JSON, as SARIF 2.1.0 for code scanning, and as annotations of a
// GitHub workflow.
//
// Paths are relative to the folder that the command was called in, so that they can be
// clicked on and pasted. Contents appear only as differences.
package report
