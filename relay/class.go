package relay

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
	"github.com/holdfast-dev/holdfast/relay/retry"
)

// Class says what the outcome of a publication means for the event.
type Class string

// The classes. Only Refused says something about the event.
const (
	// Stored: the expected stream acknowledged the event's id, now or before.
	Stored Class = "stored"
	// Unknown: no answer came. The event may be in the stream; it is published
	// again with the same id, and only an acknowledgement settles it.
	Unknown Class = "unknown"
	// Refused: the broker refused this event for itself. Trying again as it is
	// will not help; the events of its key wait behind it.
	Refused Class = "refused"
	// Unavailable: the broker, the stream, the network or a permission is at fault.
	// The batch waits and nothing is counted against its events.
	Unavailable Class = "unavailable"
)

// Error codes of the JetStream API that concern one message. Every other code,
// known or to come, is Unavailable: waiting loses nothing, giving up would.
const (
	codeMessageTooLarge jetstream.ErrorCode = 10054 // larger than the stream allows
	codeHeaderTooLarge  jetstream.ErrorCode = 10097 // header block over 64 KiB
)

// Classify returns the class of a publication error, by type and code and never by
// text. nil is Stored.
func Classify(err error) Class {
	var api *jetstream.APIError
	var invalid *wire.InvalidError
	switch {
	case err == nil:
		return Stored
	case errors.As(err, &invalid):
		return Refused
	case errors.Is(err, nats.ErrMaxPayload):
		// The client's check against the limit of the server. Sent or not, it is about this event.
		return Refused
	case errors.As(err, &api):
		if api.ErrorCode == codeMessageTooLarge || api.ErrorCode == codeHeaderTooLarge {
			return Refused
		}
		return Unavailable
	case errors.Is(err, jetstream.ErrAsyncPublishTimeout), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, errNoAck), errors.Is(err, errDuplicateWithoutSequence):
		return Unknown
	default:
		return Unavailable
	}
}

// reasonOf says why an event was refused, for an error of class Refused.
func reasonOf(err error) *retry.Reason {
	var api *jetstream.APIError
	var invalid *wire.InvalidError
	r := &retry.Reason{Code: retry.Rejected, Detail: err.Error()}
	switch {
	case errors.As(err, &invalid):
		r.Code = retry.Malformed
	case errors.Is(err, nats.ErrMaxPayload):
		r.Code = retry.MessageTooLarge
	case errors.As(err, &api) && api.ErrorCode == codeMessageTooLarge:
		r.Code = retry.MessageTooLarge
	case errors.As(err, &api) && api.ErrorCode == codeHeaderTooLarge:
		r.Code = retry.HeaderTooLarge
	}
	return r
}

var (
	// errNoAck: a whole ack timeout went by without any acknowledgement.
	errNoAck = errors.New("no acknowledgement within the ack timeout")
	// errDuplicateWithoutSequence: the stream called the id a duplicate without saying
	// where the first copy is. It does not prove that one is stored.
	errDuplicateWithoutSequence = errors.New("duplicate acknowledged without a sequence")
)

// WrongStreamError says that another stream than the configured one took an event.
type WrongStreamError struct{ Expected, Actual string }

func (e *WrongStreamError) Error() string {
	return "acknowledged by stream " + e.Actual + " instead of " + e.Expected
}

// hint says what a person can do about an error that keeps the broker unavailable.
func hint(err error) string {
	var api *jetstream.APIError
	var wrong *WrongStreamError
	var end *walk.EndError
	switch {
	case Classify(err) == Refused:
		return "raise the limit that the error names on the stream or the server, or correct the event"
	case errors.As(err, &wrong):
		return "another stream captures the subjects: run `relay stream plan`"
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "no stream has the subject, or it has no leader: run `relay stream plan`"
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return "create the stream: run `relay stream apply`"
	case errors.Is(err, nats.ErrPermissionViolation):
		return "grant the relay's user the right to publish on the subjects and to subscribe to its inbox"
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionReconnecting),
		errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrNoServers):
		return "the NATS server cannot be reached: check NATS_URL and the server"
	case errors.As(err, &api) && api.ErrorCode == 10060:
		return "the subject belongs to another stream: run `relay stream plan`"
	case errors.As(err, &api) && (api.ErrorCode == 10077 || api.ErrorCode == 10023 || api.ErrorCode == 10047):
		return "the stream or the server is full: raise its limits or shorten its retention"
	case errors.As(err, &end):
		return end.Hint()
	case errors.As(err, &api):
		return "the server answered with JetStream error code " + strconv.Itoa(int(api.ErrorCode))
	default:
		return "check the NATS server and the permissions of the relay's user"
	}
}
