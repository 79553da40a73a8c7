package main

// Error is a failure that a person can mend: Hint says how.
type Error struct {
	Op   string
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() + "; hint: " + e.Hint }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
