// Package exit says how a command ends: a status for scripts, and for people a sentence
// with what to do about it.
//
// The statuses are a contract and are never renumbered:
//
//	0    yes, or done
//	1    the answer is no: drift, nobody drains, refused
//	2    usage, configuration, or a folder that can't be read
//	3    not found
//	4    not authenticated or not allowed
//	5    unavailable, try again
//	6    partly done
//	130  interrupted
//
// It ends no process: only main does.
package exit
