package relay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/outbox/wire"
	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// lookBackPatience is how long a look-back waits for a message. Then the lane says that the broker is unavailable, and
// looks back again after its pause.
const lookBackPatience = 15 * time.Second

// lookBack finds what a previous owner published and did not settle, for the lanes that one
// claim took over without a clean hand-back. Every settle, and every renewal of an idle
// lane, stores a stream sequence before which nothing unsettled of the lane can be;
// what comes after it is read once, headers only, and the ids that are there already are
// not published again. So a crash between publish and settle leaves one copy, however
// long ago it was and whatever the dedup window is.
//
// Of a stream that is read, only the ids are kept that the lanes have not settled: what was read
// costs time, however long the stream is, and no memory.
//
// It is shared by the lanes of the claim; the first that needs it reads.
type lookBack struct {
	from  uint64 // the last sequence that need not be read
	lanes []claimed

	mu   sync.Mutex
	done bool
	ids  map[string]uint64 // Nats-Msg-Id to stream sequence
}

// lookBackFor returns the look-back that the lanes of one claim share: from the smallest
// sequence that any of those has that was not handed back.
func lookBackFor(lanes []claimed) *lookBack {
	k := &lookBack{}
	first := true
	for _, c := range lanes {
		if c.previous == "" {
			continue
		}
		k.lanes = append(k.lanes, c)
		if first || uint64(c.streamSeq) < k.from {
			k.from, first = uint64(c.streamSeq), false
		}
	}
	return k
}

// mark gives the events of the batch that are in the stream already their sequences.
func (k *lookBack) mark(ctx context.Context, r *Relay, b *batch) (found int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.done {
		want, err := r.unsettled(ctx, k.lanes)
		if err == nil {
			k.ids, err = r.storedSince(ctx, k.from, want)
		}
		if err != nil {
			return 0, fmt.Errorf("look back in stream %s after sequence %d: %w", r.cfg.Stream, k.from, err)
		}
		k.done, k.lanes = true, nil
		r.log.Info("looked back: a lane was not handed back", "after", k.from, "ids", len(k.ids))
	}
	for i := range b.events {
		e := &b.events[i]
		if seq := k.ids[wire.MsgID(e.Source, e.ID)]; seq != 0 && e.streamSeq == 0 {
			e.streamSeq, e.parked = seq, false // it went before its key was blocked
			found++
		}
	}
	return found, nil
}

// storedSince reads the wanted ids that the stream has after a sequence, up to where it ends now.
func (r *Relay) storedSince(ctx context.Context, from uint64, want *wanted) (map[string]uint64, error) {
	stream, err := r.js.Stream(ctx, r.cfg.Stream)
	if err != nil {
		return nil, err
	}
	state := stream.CachedInfo().State
	if from > state.LastSeq {
		// Not the stream that the sequence is of: purged and made again, or restored.
		r.metrics.wentBack(ctx)
		r.log.Warn("stream sequence went back: reading the whole stream", "expected", from, "last", state.LastSeq)
		from = 0
	}
	ids := map[string]uint64{}
	if state.Msgs == 0 || from >= state.LastSeq || len(want.hashes) == 0 {
		return ids, nil
	}
	// What is in the stream and not found is published again, and a read that does not end stops the lane.
	cfg := walk.Config{From: from + 1, HeadersOnly: true, Patience: lookBackPatience}
	err = walk.Stream(ctx, r.js, stream.CachedInfo(), cfg, func(m walk.Message) error {
		if id := m.Header.Get(nats.MsgIdHdr); id != "" && want.has(id) {
			ids[id] = m.Sequence
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}
