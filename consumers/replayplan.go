package consumers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire/walk"
)

// Range chooses messages of a stream by when they were stored, by the clock of the broker.
type Range struct {
	Since time.Time // required
	Until time.Time // zero: until now
	// Subjects are those of the consumer, or narrower ones. Defaults to all of the consumer.
	Subjects []string
}

// ReplayPlan is what a replay of a range would deliver again.
type ReplayPlan struct {
	Stream, Consumer string
	First, Last      uint64 // sequences of the stream; Last is 0 when there is nothing
	Messages         uint64
	// Outstanding says that a replay of this consumer is going on, with what it has left.
	Outstanding *Outstanding

	config jetstream.ConsumerConfig
}

// Outstanding is a replay that was requested and has not ended.
type Outstanding struct {
	Actor, Reason string
	Requested     time.Time
	Pending       uint64 // not delivered yet
	AckPending    int    // delivered and not settled
}

// ErrReplayOutstanding is returned by [ReplayPlan.Request]: a range of this consumer is replayed already.
var ErrReplayOutstanding = errors.New("a range of this consumer is being replayed: one at a time")

// PlanReplay counts what a replay would deliver again to a consumer of a stream. It leaves nothing on
// the broker. Errors: [*ConfigError], and those of the broker.
func PlanReplay(ctx context.Context, js jetstream.JetStream, stream, consumer string, r Range) (*ReplayPlan, error) {
	var p problems
	p.check(brokerName(stream, 255), "stream %q: must be the name of a JetStream stream", stream)
	p.check(brokerName(consumer, 64), "consumer %q: must be 1 to 64 bytes without white space, dots, slashes and wildcards", consumer)
	p.check(!r.Since.IsZero(), "since: is required")
	p.check(r.Until.IsZero() || r.Since.Before(r.Until), "since: must be before until")
	if err := p.err(); err != nil {
		return nil, err
	}
	own, err := js.Consumer(ctx, stream, consumer)
	if err != nil {
		return nil, fmt.Errorf("read consumer %s of stream %s: %w", consumer, stream, err)
	}
	plan := &ReplayPlan{Stream: stream, Consumer: consumer}
	have := own.CachedInfo().Config
	plan.config = jetstream.ConsumerConfig{
		Name: rangeName(consumer), Durable: rangeName(consumer), AckPolicy: jetstream.AckExplicitPolicy, AckWait: have.AckWait,
		MaxDeliver: -1, MaxAckPending: have.MaxAckPending, FilterSubject: have.FilterSubject, FilterSubjects: have.FilterSubjects,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
	}
	if len(r.Subjects) > 0 {
		plan.config.FilterSubject, plan.config.FilterSubjects = "", r.Subjects
	}
	if err := plan.measure(ctx, js, r); err != nil {
		return nil, err
	}
	if plan.Outstanding, err = outstanding(ctx, js, stream, consumer); err != nil {
		return nil, err
	}
	return plan, nil
}

// measure finds the sequences of a range and counts its messages.
func (p *ReplayPlan) measure(ctx context.Context, js jetstream.JetStream, r Range) error {
	stream, err := js.Stream(ctx, p.Stream)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", p.Stream, err)
	}
	end := stream.CachedInfo().State.LastSeq
	filters := p.config.FilterSubjects
	if p.config.FilterSubject != "" {
		filters = []string{p.config.FilterSubject}
	}
	from, count, err := walk.From(ctx, js, p.Stream, r.Since, filters...)
	if err != nil {
		return err
	}
	p.First, p.Last, p.Messages = from, end, count
	if !r.Until.IsZero() {
		behind, rest, err := walk.From(ctx, js, p.Stream, r.Until, filters...)
		if err != nil {
			return err
		}
		p.Last, p.Messages = min(end, behind-1), count-min(rest, count)
	}
	if p.Messages == 0 || p.Last < p.First {
		p.Last, p.Messages = 0, 0
	}
	p.config.OptStartSeq = max(p.First, 1)
	return nil
}

// outstanding looks for a request that has not ended.
func outstanding(ctx context.Context, js jetstream.JetStream, stream, consumer string) (*Outstanding, error) {
	c, err := js.Consumer(ctx, stream, rangeName(consumer))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a replay of %s: %w", consumer, err)
	}
	info := c.CachedInfo()
	return &Outstanding{
		Actor: info.Config.Metadata[rangeActor], Reason: info.Config.Metadata[rangeReason], Requested: info.Created,
		Pending: info.NumPending, AckPending: info.NumAckPending,
	}, nil
}

// Request asks the instances of the consumer to replay the range. The request is a consumer on the
// stream, which they remove at the end. actor and reason are kept in its metadata. Errors:
// [ErrReplayOutstanding], [*ConfigError], and those of the broker.
func (p *ReplayPlan) Request(ctx context.Context, js jetstream.JetStream, actor, reason string) error {
	var wrong problems
	wrong.check(actor != "" && len(actor) <= 255 && storable(actor), "actor: must be 1 to 255 bytes of UTF-8 text")
	wrong.check(reason != "" && len(reason) <= 1000 && storable(reason), "reason: must be 1 to 1000 bytes of UTF-8 text")
	wrong.check(p.Messages > 0, "range: has no message")
	if err := wrong.err(); err != nil {
		return err
	}
	cfg := p.config
	cfg.Metadata = map[string]string{rangeLast: fmt.Sprint(p.Last), rangeActor: actor, rangeReason: reason}
	_, err := js.CreateConsumer(ctx, p.Stream, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return ErrReplayOutstanding
	}
	if err != nil {
		return fmt.Errorf("request a replay of %s: %w", p.Consumer, err)
	}
	return nil
}
