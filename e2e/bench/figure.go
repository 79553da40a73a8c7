package main

import (
	"fmt"
	"os"
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

// quantile returns the value that the share q of the values does not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// figures are printed together.
type figures []*figure

func (list figures) print() {
	for _, f := range list {
		f.print()
	}
}

// print writes the figure, and the single values as a comment.
func (f *figure) print() {
	parts := make([]string, len(f.values))
	for i, v := range f.values {
		parts[i] = number(v)
	}
	fmt.Printf("BENCH %s %s %s\n", f.name, number(f.median()), f.unit)
	fmt.Printf("# %s: %s\n", f.name, strings.Join(parts, " "))
}

func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// cpuModel names the processor, where the system says it.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
