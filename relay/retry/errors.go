package retry

import (
	"errors"
	"fmt"
)

// ErrConflict is returned when a claim is not valid any more, or an event has had another
// end already. Nothing was changed.
var ErrConflict = errors.New("the claim does not hold any more")

// ErrNotFound is returned for a dead letter that is not there.
var ErrNotFound = errors.New("no such dead letter")

// InvalidError is returned for arguments and rows that are out of bounds. Nothing was changed.
type InvalidError struct{ What, Problem string }

func (e *InvalidError) Error() string { return e.What + ": " + e.Problem }

func invalid(what, format string, args ...any) error {
	return &InvalidError{What: what, Problem: fmt.Sprintf(format, args...)}
}
