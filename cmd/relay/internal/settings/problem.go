package settings

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	Message string // names the variable or the flag, and never a secret
	Hint    string
}

// Error is every problem of a configuration.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Message
	}
	return strings.Join(texts, "; ")
}

// faults collects problems.
type faults struct{ list []Problem }

func (f *faults) add(hint, format string, args ...any) {
	f.list = append(f.list, Problem{Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *faults) error() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Problems: f.list}
}
