package retry

import (
	"crypto/sha256"
	"math"
)

// Code says why an event was refused. The set is closed: the schema checks it.
type Code string

// The codes.
const (
	MessageTooLarge Code = "message_too_large" // larger than the stream or the server allows
	HeaderTooLarge  Code = "header_too_large"  // attributes take more than 64 KiB of headers
	Malformed       Code = "malformed"         // cannot be put on the wire as CloudEvents
	Rejected        Code = "rejected"          // refused by the broker for another reason of its own
)

// Reason is why an event was refused. Detail is what the broker or the encoder said: it is
// digested, and never stored or logged.
type Reason struct {
	Code   Code
	Detail string
}

// Digest is what is stored of the detail.
func (r Reason) Digest() []byte {
	sum := sha256.Sum256([]byte(r.Detail))
	return sum[:]
}

func (r Reason) validate() error {
	switch r.Code {
	case MessageTooLarge, HeaderTooLarge, Malformed, Rejected:
		return nil
	}
	return invalid("reason", "%q is not a reason code", string(r.Code))
}

// Outcome is what became of an attempt. Make one with Accepted, Skipped, Retryable or
// Permanent.
type Outcome struct {
	kind   outcomeKind
	reason Reason
	stream string
	seq    uint64
}

type outcomeKind int

const (
	accepted outcomeKind = iota + 1
	skipped
	retryable
	permanent
)

// Accepted says that the stream stored the event at a sequence.
func Accepted(stream string, seq uint64) Outcome {
	return Outcome{kind: accepted, stream: stream, seq: seq}
}

// Skipped says that the event need not be published any more.
func Skipped() Outcome { return Outcome{kind: skipped} }

// Retryable says that the event was refused and may be tried again.
func Retryable(r Reason) Outcome { return Outcome{kind: retryable, reason: r} }

// Permanent says that the event was refused and trying again cannot help.
func Permanent(r Reason) Outcome { return Outcome{kind: permanent, reason: r} }

// validate reports what cannot be stored of an outcome.
func (o Outcome) validate() error {
	switch o.kind {
	case accepted:
		if o.stream == "" || o.seq == 0 || o.seq > math.MaxInt64 {
			return invalid("outcome", "stream %q, sequence %d: an accepted event has a stream and a sequence of 1 to %d", o.stream, o.seq, int64(math.MaxInt64))
		}
	case retryable, permanent:
		return o.reason.validate()
	}
	return nil
}
