package wire

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/google/uuid"
)

// ProblemType tells problems apart. It is stable, and a URI that leads nowhere.
type ProblemType string

const problemPrefix = "urn:holdfast:problem:"

// The types of problems.
const (
	GenerationCancelled    ProblemType = problemPrefix + "generation-cancelled"
	GenerationReleased     ProblemType = problemPrefix + "generation-released"
	GenerationUnknown      ProblemType = problemPrefix + "generation-unknown"
	GenerationSuperseded   ProblemType = problemPrefix + "generation-superseded"
	OperationUnknown       ProblemType = problemPrefix + "operation-unknown"
	CompensationIncomplete ProblemType = problemPrefix + "compensation-incomplete"

	StepInvalid  ProblemType = problemPrefix + "step-invalid"
	StepConflict ProblemType = problemPrefix + "step-conflict"

	RequestInvalid   ProblemType = problemPrefix + "request-invalid"
	RequestTooLarge  ProblemType = problemPrefix + "request-too-large"
	RequestTooSlow   ProblemType = problemPrefix + "request-too-slow"
	MediaType        ProblemType = problemPrefix + "media-type"
	RouteUnknown     ProblemType = problemPrefix + "route-unknown"
	MethodNotAllowed ProblemType = problemPrefix + "method-not-allowed"

	Unauthenticated  ProblemType = problemPrefix + "unauthenticated"
	CallerNotAllowed ProblemType = problemPrefix + "caller-not-allowed"
	NotPrincipal     ProblemType = problemPrefix + "not-principal"
	RateLimited      ProblemType = problemPrefix + "rate-limited"

	Unavailable ProblemType = problemPrefix + "unavailable"
	Internal    ProblemType = problemPrefix + "internal"
)

// Problem is the body of every answer that is no success. Its texts are constant for a type,
// so that nothing internal gets out.
type Problem struct {
	Type   ProblemType `json:"type"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail,omitempty"` // what a person can do

	Operation     *uuid.UUID `json:"operation,omitempty"`
	Generation    int        `json:"generation,omitempty"`
	State         string     `json:"state,omitempty"`          // of the generation, or unknown or superseded
	MaxGeneration int        `json:"max_generation,omitempty"` // the highest known of the operation
	Pending       int64      `json:"pending,omitempty"`        // steps that are not undone yet
	Argument      string     `json:"argument,omitempty"`       // what is not valid: a header, parameter or member

	// RetryAfter is in seconds and travels in the header of that name; 0 for none.
	RetryAfter int `json:"-"`
}

// ProblemKind is what all problems of a type have in common.
type ProblemKind struct {
	Status        int // of the control surface
	Title, Detail string
}

// kinds are all there are. Never changed.
var kinds = map[ProblemType]ProblemKind{
	GenerationCancelled:    {409, "The generation was cancelled", "Stop, and start again under a new generation."},
	GenerationReleased:     {409, "The generation was released", "The operation is finished and sealed. Use a new operation."},
	GenerationUnknown:      {409, "The generation is unknown", "Register it first. One that was pruned, or is below the high-water mark, stays refused."},
	GenerationSuperseded:   {409, "A later generation of the operation exists", "Stop: only the latest generation may write or be released."},
	OperationUnknown:       {404, "The operation is unknown", "It was never registered here, or was pruned."},
	CompensationIncomplete: {503, "Cancelled, but not everything is undone yet", "Repeat the call: what is undone stays undone."},

	StepInvalid:  {400, "The identity of the step is not valid", stepHint},
	StepConflict: {409, "The step was applied with another body", "Repeat a step with the same body, or use a new generation."},

	RequestInvalid:   {400, "The request is not valid", "Read the description of the surface: " + DocumentPath},
	RequestTooLarge:  {413, "The request is too large", "Send the members that are described and nothing else."},
	RequestTooSlow:   {408, "The request did not arrive in time", "Repeat the call."},
	MediaType:        {415, "The body is not JSON", "Send " + JSONType + ", or no body."},
	RouteUnknown:     {404, "There is nothing here", "Read the description of the surface: " + DocumentPath},
	MethodNotAllowed: {405, "The method is not allowed here", "Use a method of the header Allow."},

	Unauthenticated:  {401, "The caller is not known", "Send credentials that are valid now."},
	CallerNotAllowed: {403, "The caller may not use this surface", "It needs the role of a service and a place on the allow-list."},
	NotPrincipal:     {403, "The generation belongs to another caller", "Only who registered a generation, or an operator, may decide about it."},
	RateLimited:      {429, "Too many calls", "Wait as long as Retry-After says."},

	Unavailable: {503, "The outcome is unknown", "Repeat the call: each is safe to repeat."},
	Internal:    {500, "The service failed", "Repeat the call. If it keeps failing, the log of the service says why."},
}

// Kind returns what all problems of a type have in common, and whether there is such a type.
func (t ProblemType) Kind() (ProblemKind, bool) {
	k, known := kinds[t]
	return k, known
}

// ProblemTypes returns all types, in no order. The slice is the caller's.
func ProblemTypes() []ProblemType {
	all := make([]ProblemType, 0, len(kinds))
	for t := range kinds {
		all = append(all, t)
	}
	return all
}

// NewProblem returns a problem with what all of its type have in common.
func NewProblem(t ProblemType) Problem {
	k := kinds[t]
	return Problem{Type: t, Title: k.Title, Status: k.Status, Detail: k.Detail}
}

// Write answers a request with the problem. It returns the error of the connection, which
// nobody is left to be told.
func (p Problem) Write(w http.ResponseWriter) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", ProblemContentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, err = w.Write(body)
	return err
}
