package suggest

import "slices"

// Nearest returns the known word that is closest to the given one, or "" when none is close:
// within a third of its length, and two edits for short words. A word that begins like
// a known one and was cut short counts as close.
func Nearest(word string, known []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, k := range known {
		if d := distance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, k := range known {
		if len(k) > len(word) && k[:len(word)] == word {
			return k
		}
	}
	return ""
}

// distance counts the edits that turn a into b: a byte inserted, removed, replaced, or
// two neighbours exchanged.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = slices.Min([]int{last[j+1] + 1, row[j] + 1, last[j] + cost})
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
