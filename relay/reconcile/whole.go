package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// stretch is a run of sequences, both ends with it.
type stretch struct{ from, to uint64 }

// reading is which messages of the stream came in one pass, as stretches in their order.
type reading []stretch

func (s *reading) add(seq uint64) {
	if n := len(*s); n > 0 && (*s)[n-1].to+1 == seq {
		(*s)[n-1].to = seq
		return
	}
	*s = append(*s, stretch{seq, seq})
}

// since counts the messages from a sequence on.
func (s reading) since(seq uint64) (n uint64) {
	for _, one := range s {
		if one.to >= seq {
			n += one.to - max(one.from, seq) + 1
		}
	}
	return n
}

// stateOf asks for a stream and which messages of it are deleted.
func (r *run) stateOf(ctx context.Context) (*jetstream.StreamInfo, error) {
	stream, err := r.js.Stream(ctx, r.cfg.Relay.Stream)
	if err != nil {
		return nil, err
	}
	info := stream.CachedInfo()
	if info.State.NumDeleted > 0 && !anyMayExpire(info.Config) {
		if info, err = stream.Info(ctx, jetstream.WithDeletedDetails(true)); err != nil {
			return nil, err
		}
		slices.Sort(info.State.Deleted)
	}
	return info, nil
}

// anyMayExpire reports limits that drop messages from anywhere in the stream.
func anyMayExpire(c jetstream.StreamConfig) bool { return c.MaxMsgsPerSubject > 0 }

// firstMayExpire reports limits that drop the first messages.
func firstMayExpire(c jetstream.StreamConfig) bool {
	return c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxBytes > 0
}

// settleEnd is asked for when a pass has read the stream: what the limits dropped meanwhile is expired, and what else was
// removed before it was read is neither missing nor there, so that nothing can be said.
func (r *run) settleEnd(ctx context.Context, read reading) error {
	fail := func(err error) error {
		return &walk.EndError{Stream: r.cfg.Relay.Stream, After: r.stream.State.LastSeq, Err: err}
	}
	now, err := r.stateOf(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fail(err)
	}
	if err != nil {
		return err
	}
	if !now.Created.Equal(r.stream.Created) || now.State.LastSeq < r.stream.State.LastSeq {
		return fail(walk.ErrChanged)
	}
	if err := r.expire(ctx, now.State); err != nil {
		return err
	}
	if n := r.removed(now.State, read); n > 0 {
		return fail(fmt.Errorf("%d %w", n, walk.ErrRemoved))
	}
	return nil
}

// removed counts what the stream had, was to be read, and was not read because it was removed before. In doubt it counts.
func (r *run) removed(now jetstream.StreamState, read reading) uint64 {
	had := r.stream.State
	if had.Msgs == 0 || anyMayExpire(r.stream.Config) {
		return 0
	}
	begin, before := had.FirstSeq, uint64(0)
	if now.Msgs > 0 && firstMayExpire(r.stream.Config) {
		begin = max(begin, now.FirstSeq) // what was in front of it is expired
	}
	if since := r.readSince(); now.Msgs > 0 && had.FirstTime.Before(since) {
		// The window begins behind the first message, and the stream still has one that it did not want: what lies
		// between is as it was.
		first := had.LastSeq + 1
		if len(read) > 0 {
			first = read[0].from
		}
		if left := max(had.FirstSeq, now.FirstSeq); left < first {
			begin, before = first, between(had, left, first)-min(between(had, left, first), between(now, left, first))
		}
	}
	wanted := between(had, begin, had.LastSeq+1)
	return before + wanted - min(wanted, read.since(begin))
}

// between counts the messages of a state from a sequence to before another.
func between(s jetstream.StreamState, from, to uint64) uint64 {
	if from >= to {
		return 0
	}
	first, _ := slices.BinarySearch(s.Deleted, from)
	end, _ := slices.BinarySearch(s.Deleted, to)
	return to - from - uint64(end-first)
}
