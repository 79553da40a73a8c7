package outbox

import (
	"math"
	"strconv"

	"github.com/google/uuid"
)

// Hold names the generation of an operation under which events wait until it is
// released or cancelled. The coordinator of the operation hands it out.
type Hold struct {
	Operation  uuid.UUID
	Generation int // counts from 1
}

// validate refuses what can name no generation. The zero UUID is taken for a Hold that
// nobody filled in.
func (h Hold) validate() error {
	if h.Operation == uuid.Nil {
		return &InvalidArgumentError{Argument: "operation", Problem: "is null",
			hint: "Pass the operation id, or call PublishTx for an event that is not held."}
	}
	if h.Generation < 1 || h.Generation > math.MaxInt32 {
		return &InvalidArgumentError{Argument: "generation", Problem: strconv.Itoa(h.Generation) + " is not a generation",
			hint: "Generations count from 1."}
	}
	return nil
}
