package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// figure collects the values of one measurement.
type figure struct {
	name, unit string
	values     []float64
}

func (f *figure) add(v float64) { f.values = append(f.values, v) }

func (f *figure) median() float64 {
	v := slices.Sorted(slices.Values(f.values))
	n := len(v)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// print writes the figure, and the single values as a comment.
func (f *figure) print(w io.Writer) {
	parts := make([]string, len(f.values))
	for i, v := range f.values {
		parts[i] = number(v)
	}
	fmt.Fprintf(w, "BENCH %s %s %s\n", f.name, number(f.median()), f.unit)
	fmt.Fprintf(w, "# %s: %s\n", f.name, strings.Join(parts, " "))
}

func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
