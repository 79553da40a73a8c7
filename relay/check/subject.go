package check

import (
	"slices"
	"strings"
)

// captures reports whether every subject that matches want also matches pattern.
func captures(pattern, want string) bool {
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

// overlaps reports whether some subject matches both patterns.
func overlaps(a, b string) bool {
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

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
