package saga

import (
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Judgement is what a participant's answer means for the call.
type Judgement string

// The judgements.
const (
	// Done: it is as it was asked for.
	Done Judgement = "done"
	// Retry: nobody knows, or it will be otherwise later. Repeat the call.
	Retry Judgement = "retry"
	// Refused: the generation has ended the other way, or is not known. Repeating cannot help.
	Refused Judgement = "refused"
	// Terminal: the call itself is wrong. Repeating cannot help.
	Terminal Judgement = "terminal"
)

// Final reports whether a repeated call gets the same answer.
func (j Judgement) Final() bool { return j == Refused || j == Terminal }

// statuses are the HTTP statuses that mean something else than their class does.
var statuses = map[int]Judgement{
	http.StatusConflict:              Refused, // generation-cancelled, -released, -unknown
	http.StatusGone:                  Refused,
	http.StatusBadRequest:            Terminal,
	http.StatusNotFound:              Terminal, // there is no such call here
	http.StatusMethodNotAllowed:      Terminal,
	http.StatusRequestEntityTooLarge: Terminal,
	http.StatusUnsupportedMediaType:  Terminal,
	http.StatusUnprocessableEntity:   Terminal,
}

// JudgeStatus is the one table of what the HTTP status of a participant means. Credentials (401,
// 403) are mended by people, so these calls are repeated, as is whatever is not known.
func JudgeStatus(status int) Judgement {
	if j, known := statuses[status]; known {
		return j
	}
	if status >= 200 && status <= 299 {
		return Done
	}
	return Retry
}

// Judge says what the error of a participant means; nil is Done. A refusal of the gate is told by
// the sentinels of package outbox, an HTTP status by a method StatusCode() int of an error.
func Judge(err error) Judgement {
	if err == nil {
		return Done
	}
	for _, refusal := range []error{
		outbox.ErrGenerationReleased, outbox.ErrGenerationCancelled, outbox.ErrGenerationSuperseded, outbox.ErrGenerationUnknown,
	} {
		if errors.Is(err, refusal) {
			return Refused
		}
	}
	var invalid *outbox.InvalidArgumentError
	if errors.As(err, &invalid) {
		return Terminal
	}
	var status interface {
		error
		StatusCode() int
	}
	if errors.As(err, &status) {
		if j := JudgeStatus(status.StatusCode()); j != Done {
			return j
		}
	}
	return Retry
}
