package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// placements is how many consumers are made, at most, until one lies beside the leader of the stream.
const placements = 100

// errNoPlacement says that what a stream has from a time on could not be counted.
var errNoPlacement = errors.New("the broker puts no consumer beside the leader of the stream")

// From returns the sequence of the first message that was stored at a time or later, by the clock of the broker, and how
// many there are from there on; filters choose subjects, and none is all. Only the broker knows: it says so of a
// consumer, which is made and removed. The broker puts it on any replica, and only beside the leader
// of the stream it can count all of it. Without such a message it is the sequence behind the last.
func From(ctx context.Context, js jetstream.JetStream, stream string, at time.Time, filters ...string) (seq, count uint64, err error) {
	for range placements {
		found, err := js.Stream(ctx, stream)
		if err != nil {
			return 0, 0, fmt.Errorf("look for the first message since %s: %w", at.Format(time.RFC3339), err)
		}
		look, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &at, MemoryStorage: true,
			FilterSubjects: filters, InactiveThreshold: 5 * time.Second,
		})
		if err != nil {
			return 0, 0, fmt.Errorf("look for the first message since %s: %w", at.Format(time.RFC3339), err)
		}
		info := look.CachedInfo()
		if err := js.DeleteConsumer(ctx, stream, info.Name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return 0, 0, fmt.Errorf("look for the first message since %s: %w", at.Format(time.RFC3339), err)
		}
		if BesideLeader(info, found.CachedInfo()) {
			return info.Delivered.Stream + 1, info.NumPending, nil
		}
	}
	return 0, 0, fmt.Errorf("look for the first message since %s: %w", at.Format(time.RFC3339), errNoPlacement)
}
