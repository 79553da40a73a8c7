package wire

import (
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// states are the problems of the states in which the gate refuses.
var states = map[string]ProblemType{
	outbox.StateCancelled:  GenerationCancelled,
	outbox.StateReleased:   GenerationReleased,
	outbox.StateUnknown:    GenerationUnknown,
	outbox.StateSuperseded: GenerationSuperseded,
}

// ofIdentity are the arguments that the caller of a step chose. Others are the service's own.
var ofIdentity = map[string]bool{
	OperationHeader: true, GenerationHeader: true, StepHeader: true,
	"operation": true, "generation": true, "step_key": true,
}

// StateOf returns the state of a refusal, "" for a problem that is none.
func (t ProblemType) StateOf() string {
	for state, of := range states {
		if of == t {
			return state
		}
	}
	return ""
}

// RefusalOf says which problem a refusal of a generation is for a call of the control surface.
func RefusalOf(refused *outbox.HoldRefusedError) Problem {
	t, known := states[refused.State]
	if !known {
		return NewProblem(Internal)
	}
	p := NewProblem(t)
	p.Operation, p.Generation = &refused.Operation, refused.Generation
	p.State, p.MaxGeneration = refused.State, refused.MaxGeneration
	return p
}

// WriteRefusalOf says which problem an error of a held write is: 410 for a generation that was
// cancelled, 409 for one that was released, is unknown or superseded, or for a step with
// another body, 400 for an identity that is not valid. ok is false for any other error.
func WriteRefusalOf(err error) (p Problem, ok bool) {
	var refused *outbox.HoldRefusedError
	var invalid *outbox.InvalidArgumentError
	switch {
	case errors.As(err, &refused):
		p = RefusalOf(refused)
		if p.Type == GenerationCancelled {
			p.Status = http.StatusGone
		}
		return p, p.Type != Internal
	case errors.Is(err, receipt.ErrReceiptConflict):
		return NewProblem(StepConflict), true
	case errors.As(err, &invalid) && ofIdentity[invalid.Argument]:
		p = NewProblem(StepInvalid)
		p.Argument = invalid.Argument
		return p, true
	}
	return Problem{}, false
}
