// Package completion knows the shells that can complete our commands, and how each is told to.
package completion
