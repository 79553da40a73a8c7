// Package topic explains, in prose, the words that the command line uses: the kinds of drift,
// the error codes of the SQL functions, the components and the tools.
package topic
