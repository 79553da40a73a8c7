package exit

import (
	"errors"
	"fmt"
)

// Error is an error with the status that the process ends with.
type Error struct {
	Code Code
	// Kind is the word in a JSON error. Defaults to that of Code.
	Kind string
	Err  error
	Hint string // what a person can do; "" when there is nothing to add
	// Problems are the single faults when Err sums up several.
	Problems []Problem
}

// Problem is one of several faults that are reported together.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String is the problem with its place, as compilers write it.
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	}
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an [Error] without a hint.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// WithHint returns e with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	hinted := *e
	hinted.Hint = fmt.Sprintf(format, args...)
	return &hinted
}

// answered is the error of a command whose output has said everything already.
type answered struct{ code Code }

func (a answered) Error() string { return a.code.String() }

// Answer ends a command with a status and prints nothing more. Answer(OK) is nil.
func Answer(code Code) error {
	if code == OK {
		return nil
	}
	return answered{code}
}

// Of returns the status of an error: that of the [Error] in it, or of an [Answer];
// No for any other error, OK for nil.
func Of(err error) Code {
	var e *Error
	var a answered
	switch {
	case err == nil:
		return OK
	case errors.As(err, &a):
		return a.code
	case errors.As(err, &e):
		return e.Code
	default:
		return No
	}
}

// Otherwise gives an error that has no status yet one. It returns others, and nil, as they are.
func Otherwise(code Code, err error) error {
	var e *Error
	var a answered
	if err == nil || errors.As(err, &e) || errors.As(err, &a) {
		return err
	}
	return &Error{Code: code, Err: err}
}

// HintOf returns what a person can do about an error: the hint of the first error in its
// tree that has one.
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Hint
	}
	var hinted interface {
		error
		Hint() string
	}
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}
