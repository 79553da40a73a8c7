// Package grammar is how the command lines of our programs are put together: nouns that only have
// verbs, verbs that do something, help, what every help text says, flags under headings, and -o.
//
// What a program says about a word that it does not know is its own.
package grammar
