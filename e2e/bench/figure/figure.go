package figure

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Figure collects the values of one measurement.
type Figure struct {
	Name, Unit string
	Values     []float64
}

// Add adds a value.
func (f *Figure) Add(v float64) { f.Values = append(f.Values, v) }

// Median is 0 for no values.
func (f *Figure) Median() float64 {
	v := slices.Sorted(slices.Values(f.Values))
	n := len(v)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// Print writes the figure, and the single values as a comment.
func (f *Figure) Print(w io.Writer) {
	parts := make([]string, len(f.Values))
	for i, v := range f.Values {
		parts[i] = number(v)
	}
	fmt.Fprintf(w, "BENCH %s %s %s\n", f.Name, number(f.Median()), f.Unit)
	fmt.Fprintf(w, "# %s: %s\n", f.Name, strings.Join(parts, " "))
}

func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
