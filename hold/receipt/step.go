package receipt

import (
	"encoding/hex"
	"errors"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Step is one call of a step: what the coordinator asks a participant to do.
type Step struct {
	Operation  uuid.UUID
	Generation int // counts from 1
	Key        StepKey

	// EntityKind is what the step makes, such as "person": 1 to 100 bytes.
	EntityKind string

	// BodyDigest is a digest of what the call asks for, 16 to 64 bytes, such as the
	// SHA-256 of the request's body. A step that is called again with another digest
	// is a conflict.
	BodyDigest []byte
}

// Hold is what the events of the step are staged under.
func (s Step) Hold() outbox.Hold {
	return outbox.Hold{Operation: s.Operation, Generation: s.Generation}
}

func (s Step) check() error {
	var errs []error
	if s.Key.IsZero() {
		errs = append(errs, call.Invalid("step_key", "is empty", stepHint))
	}
	if n := len(s.BodyDigest); n < 16 || n > 64 {
		errs = append(errs, call.Invalid("body_digest", "must be 16 to 64 bytes", "Pass the SHA-256 of the request's body."))
	}
	return errors.Join(append(errs,
		call.CheckHold(s.Hold()),
		call.CheckText("entity_kind", s.EntityKind, 1, 100, "Name what the step creates, such as person."))...)
}

func (s Step) digest() string { return hex.EncodeToString(s.BodyDigest) }
