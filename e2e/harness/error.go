package harness

import "errors"

// Error is a failure that a person can mend: Hint says how.
type Error struct {
	Op   string // what was being done, for example "find postgres"
	Err  error  // why it failed
	Hint string // what to do about it
}

// Error returns the operation, the reason and the hint in one line, because
// most callers hand it to t.Fatal and nothing else would print the hint.
func (e *Error) Error() string {
	return e.Op + ": " + e.Err.Error() + "; hint: " + e.Hint
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

var (
	errNoPostgres = errors.New("no directory with initdb and postgres")
	errClosed     = errors.New("the server is closed")
	errExited     = errors.New("the server exited")
)
