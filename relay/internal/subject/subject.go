package subject

import (
	"slices"
	"strings"
)

// Captures reports whether every subject that matches want also matches pattern.
func Captures(pattern, want string) bool {
	p, w := strings.Split(pattern, "."), strings.Split(want, ".")
	for i, token := range p {
		switch {
		case token == ">":
			return len(w) > i
		case i >= len(w) || w[i] == ">":
			return false
		case token != "*" && token != w[i]:
			return false
		}
	}
	return len(p) == len(w)
}

// Captured reports whether one of the patterns captures want.
func Captured(patterns []string, want string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Captures(pattern, want) })
}

// Overlaps reports whether some subject matches both patterns.
func Overlaps(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x) || i >= len(y):
			return false
		case x[i] == ">" || y[i] == ">":
			return true
		case x[i] != y[i] && x[i] != "*" && y[i] != "*":
			return false
		}
	}
	return true
}
