package relay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/relay"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	api := func(status int, code jetstream.ErrorCode) error {
		return &jetstream.APIError{Code: status, ErrorCode: code, Description: "no text is looked at: timeout, too large"}
	}
	for _, c := range []struct {
		name string
		err  error
		want relay.Class
	}{
		{"acknowledged", nil, relay.Stored},

		{"not an event", &wire.InvalidError{Field: "type"}, relay.Refused},
		{"larger than the server allows", nats.ErrMaxPayload, relay.Refused},
		{"larger than the stream allows", api(400, 10054), relay.Refused},
		{"header block too large", api(400, 10097), relay.Refused},

		{"no answer to an asynchronous publish", jetstream.ErrAsyncPublishTimeout, relay.Unknown},
		{"no answer", nats.ErrTimeout, relay.Unknown},
		{"deadline", context.DeadlineExceeded, relay.Unknown},
		{"connection lost with the answer under way", nats.ErrDisconnected, relay.Unknown},

		{"store full", api(503, 10077), relay.Unavailable},
		{"insufficient resources", api(503, 10023), relay.Unavailable},
		{"no leader", api(503, 10008), relay.Unavailable},
		{"too many requests", api(429, 10167), relay.Unavailable},
		{"duplicate in process", api(409, 10158), relay.Unavailable},
		{"another stream's subject", api(400, 10060), relay.Unavailable},
		{"no such stream", api(404, 10059), relay.Unavailable},
		{"a code to come", api(400, 19999), relay.Unavailable},
		{"no responders", nats.ErrNoResponders, relay.Unavailable},
		{"no stream responds", jetstream.ErrNoStreamResponse, relay.Unavailable},
		{"stream not found", jetstream.ErrStreamNotFound, relay.Unavailable},
		{"nothing is buffered while reconnecting", nats.ErrReconnectBufExceeded, relay.Unavailable},
		{"connection closed", nats.ErrConnectionClosed, relay.Unavailable},
		{"permission", nats.ErrPermissionViolation, relay.Unavailable},
		{"authorization", nats.ErrAuthorization, relay.Unavailable},
		{"too many stalled", jetstream.ErrTooManyStalledMsgs, relay.Unavailable},
		{"not an acknowledgement", jetstream.ErrInvalidJSAck, relay.Unavailable},
		{"stored elsewhere", &relay.WrongStreamError{Expected: "A", Actual: "B"}, relay.Unavailable},
		{"something new", errors.New("maximum payload exceeded"), relay.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := relay.Classify(c.err); got != c.want {
				t.Errorf("%v is %s, want %s", c.err, got, c.want)
			}
			if c.err == nil {
				return
			}
			if got := relay.Classify(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
				t.Errorf("wrapped, %v is %s, want %s", c.err, got, c.want)
			}
		})
	}
}
