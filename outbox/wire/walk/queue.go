package walk

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Error codes of the JetStream API for a consumer of a work queue: one that only reads is refused there, and each
// message is some worker's own.
const (
	codeNeedsAck  jetstream.ErrorCode = 10084
	codeNotUnique jetstream.ErrorCode = 10099
)

// get reads message by message, for about a time. It is slow, and takes nothing away from the workers of a queue.
func (w *walker) get(ctx context.Context, wait time.Duration) (some bool, err error) {
	for began := time.Now(); !w.done && time.Since(began) < wait; some = true {
		ask, cancel := context.WithTimeout(ctx, askLimit)
		err := w.getOne(ask)
		cancel()
		if err != nil {
			return some, err
		}
	}
	if !w.done {
		return some, nil
	}
	ask, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if _, err := w.same(ask); err != nil {
		w.done = false
		return false, err
	}
	return some, nil
}

// getOne reads the next message that the leader has. There is none behind the last.
func (w *walker) getOne(ctx context.Context) error {
	if w.leader == nil {
		stream, err := w.js.Stream(ctx, w.stream.Config.Name)
		if err != nil {
			return err
		}
		// Any replica answers a direct get, also one that lags.
		stream.CachedInfo().Config.AllowDirect = false
		w.leader = stream
	}
	m, err := w.leader.GetMsg(ctx, max(w.at+1, w.cfg.From), jetstream.WithGetMsgSubject(">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		w.done = true
		return nil
	}
	if err != nil {
		_, lost := w.same(ctx)
		return cmp.Or(lost, err)
	}
	return w.pass(Message{Header: m.Header, Data: m.Data, Sequence: m.Sequence, Stored: m.Time})
}
