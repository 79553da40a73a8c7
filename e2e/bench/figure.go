package main

import (
	"os"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/e2e/bench/figure"
)

// quantile returns the value that the share q of the values does not exceed.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// figures are printed together.
type figures []*figure.Figure

func (list figures) print() {
	for _, f := range list {
		f.Print(os.Stdout)
	}
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
