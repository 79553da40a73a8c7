// Package build tells which version of a program runs, by what was stamped into its binary, and
// of which versions of the schema it knows.
package build
