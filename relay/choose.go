package relay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// PublisherKind is a way to put events into the stream. The outcomes, the order of keys and the
// classes of errors are the same for all of them.
type PublisherKind string

// The kinds.
const (
	// PublisherAuto takes fast where the server and the stream allow it, else async.
	PublisherAuto PublisherKind = "auto"
	// PublisherAsync publishes event by event, with one acknowledgement each and at most
	// one event per key in flight. It works with every server.
	PublisherAsync PublisherKind = "async"
	// PublisherFast publishes a batch of events with one acknowledgement, which the server
	// stores in order or not at all from the first gap on. It needs server 2.14 and a stream with allow_batched;
	// where that is missing events go by async all the same, and `relay check` fails.
	PublisherFast PublisherKind = "fast"
)

// UnmarshalText implements [encoding.TextUnmarshaler]. No text is the default.
func (k *PublisherKind) UnmarshalText(text []byte) error {
	switch kind := PublisherKind(text); kind {
	case PublisherAuto, PublisherAsync, PublisherFast, "":
		*k = kind
		return nil
	}
	return fmt.Errorf("publisher %q: must be auto, async or fast", text)
}

// MarshalText implements [encoding.TextMarshaler].
func (k PublisherKind) MarshalText() ([]byte, error) { return []byte(k), nil }

// String returns the text of the kind.
func (k PublisherKind) String() string { return string(k) }

// PublisherChoice is which publisher a relay uses, and why.
type PublisherChoice struct {
	Kind   PublisherKind // PublisherAsync or PublisherFast
	Reason string
	// Denied says that fast was demanded and is not possible.
	Denied bool
}

// ChoosePublisher says which publisher a relay with the setting want uses on a server of a version,
// such as "2.15.2", with a stream.
func ChoosePublisher(want PublisherKind, server string, stream *jetstream.StreamConfig) PublisherChoice {
	denied := want == PublisherFast
	switch {
	case want == PublisherAsync:
		return PublisherChoice{Kind: PublisherAsync, Reason: "set so"}
	case stream == nil:
		return PublisherChoice{Kind: PublisherAsync, Reason: "the stream is not known yet", Denied: denied}
	case !batches(server):
		return PublisherChoice{Kind: PublisherAsync, Reason: fmt.Sprintf("server %s takes no fast batches: 2.14 does", server), Denied: denied}
	case !stream.AllowBatchPublish:
		return PublisherChoice{Kind: PublisherAsync, Reason: fmt.Sprintf("stream %s does not allow batches", stream.Name), Denied: denied}
	}
	return PublisherChoice{Kind: PublisherFast, Reason: fmt.Sprintf("server %s and stream %s allow batches", server, stream.Name)}
}

// batches reports whether a server of a version takes fast batches. A version that cannot be
// read does not.
func batches(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > 2 || (major == 2 && minor >= 14))
}
