package wire

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// The headers in which the identity of a step travels. A request has all three or none.
const (
	OperationHeader  = "Holdfast-Operation"  // a UUID
	GenerationHeader = "Holdfast-Generation" // counts from 1
	StepHeader       = "Holdfast-Step"       // the text of a receipt.StepKey
)

// Step is the identity of a held write: which step of which generation it is.
type Step struct {
	Operation  uuid.UUID
	Generation int // counts from 1
	Key        receipt.StepKey
}

// Hold is what the events of the step are staged under.
func (s Step) Hold() outbox.Hold {
	return outbox.Hold{Operation: s.Operation, Generation: s.Generation}
}

// Set writes the identity into the headers of a request.
func (s Step) Set(h http.Header) {
	h.Set(OperationHeader, s.Operation.String())
	h.Set(GenerationHeader, strconv.Itoa(s.Generation))
	h.Set(StepHeader, s.Key.String())
}

// Coherent refuses a step that is not one of those names: a request whose headers speak of
// another step than its path and body make. An index is not looked at.
//
// Errors: [*outbox.InvalidArgumentError].
func (s Step) Coherent(names ...string) error {
	for _, name := range names {
		if s.Key.Name() == name {
			return nil
		}
	}
	return call.Invalid(StepHeader, "names a step that this request does not make", "Send the step key of what is asked for here.")
}

// ReadStep reads the identity of a step. present is false, and there is no error, for a request
// that has none of the headers: it is no step of an operation. A header that is there twice,
// is not the text that Set writes, or comes without the others is refused.
//
// Errors: [*outbox.InvalidArgumentError], with the header as its argument; its text holds
// nothing that was sent.
func ReadStep(h http.Header) (step Step, present bool, err error) {
	var texts [3]string
	for i, name := range []string{OperationHeader, GenerationHeader, StepHeader} {
		values := h.Values(name)
		if len(values) > 1 {
			return Step{}, true, call.Invalid(name, "is there more than once", stepHint)
		}
		if len(values) == 1 {
			present, texts[i] = true, values[0]
		}
	}
	if !present {
		return Step{}, false, nil
	}
	if step.Operation, err = ParseOperation(texts[0]); err != nil {
		return Step{}, true, call.Invalid(OperationHeader, "is missing, or no operation", stepHint)
	}
	if step.Generation, err = ParseGeneration(texts[1]); err != nil {
		return Step{}, true, call.Invalid(GenerationHeader, "is missing, or no generation", stepHint)
	}
	if step.Key, err = receipt.ParseStepKey(texts[2]); err != nil {
		return Step{}, true, call.Invalid(StepHeader, "is missing, or no step key", stepHint)
	}
	return step, true, nil
}

const stepHint = "Send " + OperationHeader + " (a UUID), " + GenerationHeader + " (a number from 1) and " + StepHeader + " (a step key) once each, or none of them."

// ParseOperation reads the id of an operation: a UUID in its canonical text of 36 characters,
// and not the null one.
func ParseOperation(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		return uuid.Nil, call.Invalid("operation", "is not a UUID", "Write it as 8-4-4-4-12 hexadecimal digits.")
	}
	return id, nil
}

// ParseGeneration reads a generation: 1 to 2147483647 in digits, without leading zeros.
func ParseGeneration(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, call.Invalid("generation", "is not a generation", "Generations count from 1, to 2147483647.")
	}
	return int(n), nil
}
