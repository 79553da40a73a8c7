package consumers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// rangeSuffix makes the name of the consumer on the stream that is the request to replay a range.
const rangeSuffix = "-replay"

// rangeName is that name: there is one for each consumer, so one range is replayed at a time.
func rangeName(consumer string) string { return consumer + rangeSuffix }

// The metadata of that consumer.
const (
	rangeLast   = "holdfast.last"
	rangeActor  = "holdfast.actor"
	rangeReason = "holdfast.reason"
)

// replayRange takes some of what a range consumer has, and removes it when its last message is settled.
// It is the broker that remembers how far the replay is: any instance goes on with it. again says that
// there is more at once; what is left otherwise comes back after its delay.
func (c *Consumer) replayRange(soft context.Context) (again bool, err error) {
	consumer, last, err := c.findRange(soft)
	if consumer == nil || err != nil {
		return false, err
	}
	info := consumer.CachedInfo()
	ended, err := c.rangeEnded(soft, info, last)
	if err != nil {
		return false, err
	}
	if ended {
		return false, c.endRange(soft, info)
	}
	taken, err := c.takeRange(soft, consumer, last)
	return taken > 0, err
}

func (c *Consumer) findRange(soft context.Context) (consumer jetstream.Consumer, last uint64, err error) {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	consumer, err = c.js.Consumer(ctx, c.cfg.Stream, rangeName(c.cfg.Name))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look for a range: %w", err)
	}
	if _, err := fmt.Sscan(consumer.CachedInfo().Config.Metadata[rangeLast], &last); err != nil {
		return nil, 0, fmt.Errorf("consumer %s of stream %s is no request to replay: its metadata has no %s", rangeName(c.cfg.Name), c.cfg.Stream, rangeLast)
	}
	return consumer, last, nil
}

// rangeEnded reports whether a range has nothing left. Its consumer may be led by a replica that lacks some of the
// stream, or have no leader yet, and then it is no end that nothing is pending.
func (c *Consumer) rangeEnded(soft context.Context, info *jetstream.ConsumerInfo, last uint64) (bool, error) {
	if info.NumAckPending > 0 {
		return false, nil
	}
	if info.Delivered.Stream >= last || info.NumPending > 0 {
		return info.Delivered.Stream >= last, nil
	}
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, c.cfg.Stream)
	if err != nil {
		return false, fmt.Errorf("look for the end of a range: %w", err)
	}
	// Any replica answers a direct get, also one that lags.
	stream.CachedInfo().Config.AllowDirect = false
	subjects := info.Config.FilterSubjects
	if len(subjects) == 0 {
		subjects = []string{cmp.Or(info.Config.FilterSubject, ">")}
	}
	next := max(info.Delivered.Stream+1, info.Config.OptStartSeq)
	for _, subject := range subjects {
		msg, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look for the end of a range: %w", err)
		}
		if msg.Sequence <= last {
			return false, nil
		}
	}
	return true, nil
}

// takeRange handles some messages, and waits for them. They have no part in the room of those that are
// held: a range must not keep back what comes in the ordinary way, nor wait for it. When the consumer stops it
// leaves them to the stop. It returns how many were of the range.
func (c *Consumer) takeRange(soft context.Context, consumer jetstream.Consumer, last uint64) (taken int, err error) {
	batch, err := consumer.FetchNoWait(c.cfg.Concurrency)
	if err != nil {
		return 0, fmt.Errorf("take from a range: %w", err)
	}
	var ended sync.WaitGroup
	var behind []jetstream.Msg
	for msg := range batch.Messages() {
		d := &delivery{msg: msg, times: 1, ended: ended.Done}
		if meta, err := msg.Metadata(); err == nil && meta.Sequence.Stream > last {
			behind = append(behind, msg)
			continue
		}
		taken++
		ended.Add(1)
		c.begin(d)
	}
	c.leaveBehind(soft, consumer, behind)
	settled := make(chan struct{})
	go func() { // it ends with the deliveries, which the stop waits for
		ended.Wait()
		close(settled)
	}()
	select {
	case <-settled:
	case <-soft.Done():
		return taken, nil
	}
	if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
		return taken, fmt.Errorf("take from a range: %w", err)
	}
	return taken, nil
}

// leaveBehind acknowledges what is behind the last message of a range: it came in the ordinary way. If somebody has
// requested the next range meanwhile, under the same name, it may be of that one, and is given back.
func (c *Consumer) leaveBehind(soft context.Context, of jetstream.Consumer, list []jetstream.Msg) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	now, err := c.js.Consumer(ctx, c.cfg.Stream, rangeName(c.cfg.Name))
	same := err == nil && now.CachedInfo().Created.Equal(of.CachedInfo().Created)
	for _, msg := range list {
		if same {
			_ = msg.Ack() // otherwise it comes again, and is acknowledged then
		} else {
			_ = msg.NakWithDelay(c.cfg.RetryMin) // otherwise it comes again after the ack wait
		}
	}
}

func (c *Consumer) endRange(soft context.Context, info *jetstream.ConsumerInfo) error {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	// Another instance may have ended it, and somebody requested the next one under the same name.
	now, err := c.js.Consumer(ctx, c.cfg.Stream, rangeName(c.cfg.Name))
	if errors.Is(err, jetstream.ErrConsumerNotFound) || err == nil && !now.CachedInfo().Created.Equal(info.Created) {
		return nil
	}
	if err == nil {
		err = c.js.DeleteConsumer(ctx, c.cfg.Stream, rangeName(c.cfg.Name))
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) { // another instance was quicker
		return fmt.Errorf("end a range: %w", err)
	}
	c.log.InfoContext(ctx, "a range was replayed", "actor", info.Config.Metadata[rangeActor], "requested", info.Created.UTC().Format(time.RFC3339),
		"last", info.Config.Metadata[rangeLast], "delivered", info.Delivered.Consumer)
	return nil
}
