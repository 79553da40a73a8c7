package saga

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// Request is what a client asks for. All fields are required.
type Request struct {
	// ID is the id that was reserved for the result, before the first call.
	ID uuid.UUID
	// Kind names what it is, such as "order.finalize": 1 to 100 bytes. A reconciler knows what to do
	// by it.
	Kind string
	// Participants are the names of the services that will be called, 1 to 64 of them, 1 to 100 bytes
	// each. They are stored before the first call, so that a cancel misses none.
	Participants []string
	// Basis is whatever varies between two runs and must not, such as today's date and the time of
	// reception: a JSON document. Bodies of calls are built from it and the request, and nothing else.
	Basis json.RawMessage
	// Digest is of the whole request.
	Digest Digest
	// Subject locks what the operation consumes, such as the row of a draft FOR UPDATE, and says
	// whether it is there. It is called first in a transaction, and again in the final one.
	Subject func(ctx context.Context, tx pgx.Tx) (there bool, err error)
	// Result reads the result from the service's own table, as the operation would answer it; nothing
	// when there is none. It is asked when the operation's row is not there, or when another row
	// has the result's identity.
	Result func(ctx context.Context, tx pgx.Tx) (json.RawMessage, error)
}

const (
	maxKind         = 100
	maxParticipants = 64
)

func (r Request) check() error {
	var errs []error
	if r.ID == uuid.Nil {
		errs = append(errs, call.Invalid("operation", "is null", "Reserve the id of the result before the first call."))
	}
	errs = append(errs, call.CheckText("kind", r.Kind, 1, maxKind, "Name the kind of operation, such as order.finalize."))
	if n := len(r.Participants); n < 1 || n > maxParticipants {
		errs = append(errs, call.Invalid("participants", "must be 1 to 64", "Name every service that will be called."))
	}
	names := slices.Sorted(slices.Values(r.Participants))
	for i, name := range names {
		errs = append(errs, call.CheckText("participants", name, 1, maxKind, "Name the service."))
		if i > 0 && name == names[i-1] {
			errs = append(errs, call.Invalid("participants", "has a name twice", "Name each service once."))
		}
	}
	if !json.Valid(r.Basis) {
		errs = append(errs, call.Invalid("basis", "is not JSON", "Pin what varies, such as the date of today; {} for nothing."))
	}
	if r.Digest.IsZero() {
		errs = append(errs, call.Invalid("digest", "is missing", "Digest the whole request with Keys.Digest."))
	}
	if r.Subject == nil || r.Result == nil {
		errs = append(errs, call.Invalid("request", "has no Subject or no Result", "Say how to lock what is consumed, and how to read the result."))
	}
	return errors.Join(errs...)
}
