// Package given judges what somebody gave on the command line, before a command looks at it.
package given
