package holdclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/wire"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Sentinels of this package, for errors.Is.
var (
	// ErrUnknownOutcome: no attempt got an answer that says what became of the call. Repeat it.
	ErrUnknownOutcome = errors.New("outcome is unknown")
	// ErrUnauthenticated: the participant does not know the caller.
	ErrUnauthenticated = errors.New("caller is not known")
	// ErrForbidden: the caller may not use the surface, or the generation is another's.
	ErrForbidden = errors.New("caller may not do this")
	// ErrNotPrincipal: the generation belongs to another caller. It is an ErrForbidden too.
	ErrNotPrincipal = errors.New("generation belongs to another caller")
	// ErrNotFound: the operation is unknown to the participant.
	ErrNotFound = errors.New("not found")
	// ErrAddress: a call of the control surface is answered with 404, which says nothing about the operation. The
	// address is wrong.
	ErrAddress = errors.New("there is no control surface at the address")
	// ErrInvalid: the request cannot be meant.
	ErrInvalid = errors.New("request is not valid")
	// ErrStepConflict: the step was applied with another body.
	ErrStepConflict = errors.New("step was applied with another body")
	// ErrRateLimited: the caller makes too many calls.
	ErrRateLimited = errors.New("too many calls")
)

// ProblemError is an answer that is no success. It matches, by errors.Is, the sentinels of
// this package and, for a refusal of a generation, those of package outbox.
type ProblemError struct {
	Status int
	// Type is empty for an answer that is no problem of the control surface, such as that of a
	// proxy. Everything else but Status and RetryAfter is then too.
	Type   wire.ProblemType
	Detail string // what a person can do

	Operation     uuid.UUID // of a refusal; zero if it was not told
	Generation    int
	State         string // a State constant of package outbox
	MaxGeneration int
	Pending       int64 // steps that are not undone yet
	Argument      string

	RetryAfter time.Duration // 0 for none

	held bool // the answer is to a held write, which a service may refuse in words of its own
}

func (e *ProblemError) Error() string {
	if kind, known := e.Type.Kind(); known {
		text := fmt.Sprintf("participant answers %d: %s", e.Status, kind.Title)
		if e.Argument != "" {
			text += ": " + e.Argument
		}
		return text
	}
	if e.held {
		return fmt.Sprintf("service answers %d", e.Status)
	}
	return fmt.Sprintf("answer is %d, and no problem of a control surface", e.Status)
}

// StatusCode returns the HTTP status.
func (e *ProblemError) StatusCode() int { return e.Status }

// Hint says what a person can do.
func (e *ProblemError) Hint() string {
	if kind, known := e.Type.Kind(); known {
		return kind.Detail
	}
	if e.held {
		return "It is the service's own answer, or that of something before it: see its interface."
	}
	return "Check the address: something else than a control surface answers there."
}

// sentinels are what the types of problems match.
var sentinels = map[wire.ProblemType][]error{
	wire.GenerationCancelled:  {outbox.ErrGenerationCancelled},
	wire.GenerationReleased:   {outbox.ErrGenerationReleased},
	wire.GenerationUnknown:    {outbox.ErrGenerationUnknown},
	wire.GenerationSuperseded: {outbox.ErrGenerationSuperseded},
	wire.OperationUnknown:     {ErrNotFound},
	wire.RouteUnknown:         {ErrAddress},
	wire.StepConflict:         {ErrStepConflict},
	wire.StepInvalid:          {ErrInvalid},
	wire.RequestInvalid:       {ErrInvalid},
	wire.RequestTooLarge:      {ErrInvalid},
	wire.MediaType:            {ErrInvalid},
	wire.MethodNotAllowed:     {ErrInvalid},
	wire.Unauthenticated:      {ErrUnauthenticated},
	wire.CallerNotAllowed:     {ErrForbidden},
	wire.NotPrincipal:         {ErrNotPrincipal, ErrForbidden},
	wire.RateLimited:          {ErrRateLimited},
}

// Is reports whether target is a sentinel of the type; for an answer of something else, of the
// status.
func (e *ProblemError) Is(target error) bool {
	for _, sentinel := range sentinels[e.Type] {
		if target == sentinel {
			return true
		}
	}
	if e.Type != "" {
		return false
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return target == ErrUnauthenticated
	case http.StatusForbidden:
		return target == ErrForbidden
	case http.StatusNotFound:
		return target == ErrAddress && !e.held
	case http.StatusTooManyRequests:
		return target == ErrRateLimited
	}
	return false
}

// As gives a refusal of a generation the type that it has in the participant itself, so that a
// coordinator, which looks for it by errors.As, learns the highest generation also over HTTP.
func (e *ProblemError) As(target any) bool {
	refused, wanted := target.(**outbox.HoldRefusedError)
	if !wanted || e.State == "" {
		return false
	}
	*refused = &outbox.HoldRefusedError{Operation: e.Operation, Generation: e.Generation, State: e.State, MaxGeneration: e.MaxGeneration}
	return true
}

// Retryable reports whether the same call may have another answer later.
func (e *ProblemError) Retryable() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// maxAnswer is the size of the largest answer that is read, in bytes.
const maxAnswer = 8 << 20

// Problem reads the answer of a control surface, or of a service to a held write, if it is no
// success: then it is a [*ProblemError]. It returns nil for a success, whose body it leaves
// alone. The caller closes the body.
func Problem(response *http.Response) error {
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	e := &ProblemError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"))}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != wire.ProblemContentType {
		return e
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return e
	}
	var p wire.Problem
	if json.Unmarshal(body, &p) != nil {
		return e
	}
	kind, known := p.Type.Kind()
	if !known {
		return e
	}
	e.Type, e.Detail, e.Generation, e.MaxGeneration, e.Pending = p.Type, kind.Detail, p.Generation, p.MaxGeneration, p.Pending
	e.State = p.Type.StateOf()
	if p.Operation != nil {
		e.Operation = *p.Operation
	}
	if p.Argument != "" && len(p.Argument) <= 64 {
		e.Argument = p.Argument
	}
	return e
}

// retryAfter reads seconds or a date.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 1<<30 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
