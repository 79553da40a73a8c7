// Package readme is the code that README.md shows, compiled, and run by its test on real
// servers.
package readme
