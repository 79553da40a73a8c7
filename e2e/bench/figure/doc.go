// Package figure is what benchmarks print: the median of the values of a measurement, one line a figure, and
// the single values as a comment.
package figure
