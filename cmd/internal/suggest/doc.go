// Package suggest finds the word that somebody meant to type: "did you mean".
//
// It never guesses wildly: a word that is far from all known ones has no suggestion.
package suggest
