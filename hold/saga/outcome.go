package saga

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Claim is the right to work on an operation, for as long as its lease is nobody else's.
type Claim struct {
	Operation  uuid.UUID
	Generation int
	Holder     uuid.UUID // the token of this claim
}

// Hold is what participants stage the events of the operation under.
func (c Claim) Hold() outbox.Hold {
	return outbox.Hold{Operation: c.Operation, Generation: c.Generation}
}

// Outcome is what became of a claim: one of [Won], [Completed], [InProgressElsewhere],
// [DigestMismatch], [SubjectGone] and [NeedsOperator].
type Outcome interface {
	// Name is a word for it, for metrics and logs.
	Name() string
	// HTTPStatus is what a client is told; 0 for Won, which is no answer yet.
	HTTPStatus() int
}

// Won says that the operation is the caller's to run.
type Won struct {
	Claim
	// Basis is what was pinned, as the database has it: the same bytes in every run.
	Basis json.RawMessage
	// Participants are those that were pinned.
	Participants []string
	// Stolen says that somebody ran it before, in the same generation.
	Stolen bool

	request Request
}

// Completed says that the operation has its result: the answer of the first time.
type Completed struct{ Result json.RawMessage }

// InProgressElsewhere says that somebody works on it, and when it makes sense to ask again: more
// than 0.
type InProgressElsewhere struct{ RetryAfter time.Duration }

// DigestMismatch says that another request is pinned under this id.
type DigestMismatch struct{}

// SubjectGone says that there is nothing to consume, and no result.
type SubjectGone struct{}

// NeedsOperator says that the operation is stuck.
type NeedsOperator struct{}

// The words for outcomes.
func (Won) Name() string                 { return "won" }
func (Completed) Name() string           { return "completed" }
func (InProgressElsewhere) Name() string { return "in_progress" }
func (DigestMismatch) Name() string      { return "digest_mismatch" }
func (SubjectGone) Name() string         { return "subject_gone" }
func (NeedsOperator) Name() string       { return "needs_operator" }

// HTTPStatus is 0: there is no answer yet.
func (Won) HTTPStatus() int { return 0 }

// HTTPStatus is 200.
func (Completed) HTTPStatus() int { return http.StatusOK }

// HTTPStatus is 503, with RetryAfter in whole seconds, rounded up, as Retry-After.
func (InProgressElsewhere) HTTPStatus() int { return http.StatusServiceUnavailable }

// HTTPStatus is 409.
func (DigestMismatch) HTTPStatus() int { return http.StatusConflict }

// HTTPStatus is 404.
func (SubjectGone) HTTPStatus() int { return http.StatusNotFound }

// HTTPStatus is 503, without Retry-After: nobody knows when.
func (NeedsOperator) HTTPStatus() int { return http.StatusServiceUnavailable }

// RetryAfterSeconds is the value of the header Retry-After.
func (o InProgressElsewhere) RetryAfterSeconds() int {
	return int((o.RetryAfter + time.Second - 1) / time.Second)
}
