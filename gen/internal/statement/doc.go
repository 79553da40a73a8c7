// Package statement cuts SQL text into statements, by the lexical rules of Postgres.
//
// It knows strings, escape strings, quoted identifiers, dollar quotes, nested comments and
// parentheses, and nothing of grammar. It never fails: what is not closed reaches to the
// end of the text. That makes it fit for two things: to see where a tool must put its
// fences in our own files, and to find in other people's files which objects their
// statements define. It never changes a text.
package statement
