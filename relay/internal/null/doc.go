// Package null makes NULL of what a filter leaves out.
package null
