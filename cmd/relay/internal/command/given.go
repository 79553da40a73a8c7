package command

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/exit"
	"github.com/holdfast-dev/holdfast/cmd/internal/suggest"
)

// most is how many things one command handles at most.
const most = 100_000

// checkLimit refuses a --limit below 1, and one that is more than a command handles.
func checkLimit(limit int) error {
	if limit < 1 || limit > most {
		return exit.Errorf(exit.Usage, "--limit %d: must be 1 to %d", limit, most)
	}
	return nil
}

// checkWords refuses a value of a flag that is none of the known ones. An empty one was not given.
func checkWords(flag string, known []string, values ...string) error {
	for _, value := range values {
		if value == "" || slices.Contains(known, value) {
			continue
		}
		err := exit.Errorf(exit.Usage, "--%s: unknown value %q", flag, value)
		if near := suggest.Nearest(value, known); near != "" {
			return err.WithHint("did you mean %s?", near)
		}
		return err.WithHint("use one of %s", strings.Join(known, ", "))
	}
	return nil
}

// wordsOf are the values of a type as flags have them.
func wordsOf[T ~string](values []T) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return words
}
