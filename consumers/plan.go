package consumers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Change is one difference between a consumer on the stream and the one that is wanted.
type Change struct {
	Field, Have, Want string
	// Fixed says that the broker cannot change it: the consumer has to be made anew, which
	// delivers everything again. Facts make that harmless, and slow.
	Fixed bool
}

// Plan is what applying the settings to the stream would do.
type Plan struct {
	Stream, Name string
	Exists       bool
	Changes      []Change // of one that exists; empty: nothing to do

	config jetstream.ConsumerConfig
}

// DifferenceError is returned by [Consumer.Run]: the consumer on the stream is not what is wanted,
// and a running consumer never changes one.
type DifferenceError struct{ Plan *Plan }

func (e *DifferenceError) Error() string {
	texts := make([]string, len(e.Plan.Changes))
	for i, c := range e.Plan.Changes {
		texts[i] = fmt.Sprintf("%s is %s, want %s", c.Field, c.Have, c.Want)
	}
	return fmt.Sprintf("consumer %s of stream %s differs: %s", e.Plan.Name, e.Plan.Stream, strings.Join(texts, "; "))
}

// Hint says what a person can do.
func (e *DifferenceError) Hint() string {
	return "change the settings, or look at the plan and apply it with Plan.Apply"
}

// ErrFixed is returned by [Plan.Apply] for a change that the broker cannot make.
var ErrFixed = errors.New("the broker cannot change this of a consumer that exists: delete it first; it then begins at the first message of the stream")

// PlanConsumer compares the consumer on the stream with the settings. It changes nothing.
// Errors: [*ConfigError], and those of the broker.
func PlanConsumer(ctx context.Context, js jetstream.JetStream, cfg Config) (*Plan, error) {
	cfg = cfg.withDefaults()
	var p problems
	cfg.validateApply(&p)
	cfg.validate(&p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return plan(ctx, js, cfg)
}

func plan(ctx context.Context, js jetstream.JetStream, cfg Config) (*Plan, error) {
	want := wanted(cfg)
	have, err := js.Consumer(ctx, cfg.Stream, cfg.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return &Plan{Stream: cfg.Stream, Name: cfg.Name, config: want}, nil
	}
	if errors.Is(err, jetstream.ErrNotPullConsumer) {
		p := &Plan{Stream: cfg.Stream, Name: cfg.Name, Exists: true, config: want}
		p.Changes = []Change{{"kind", "push", "pull", true}}
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read consumer %s of stream %s: %w", cfg.Name, cfg.Stream, err)
	}
	return compare(cfg, have.CachedInfo().Config, want), nil
}

// wanted is a durable consumer that delivers for as long as it takes: our own limit counts
// attempts, and an outage is none.
func wanted(cfg Config) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: cfg.Name, Name: cfg.Name, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
		AckWait: cfg.AckWait, MaxDeliver: -1, MaxAckPending: cfg.MaxAckPending, ReplayPolicy: jetstream.ReplayInstantPolicy,
	}
	switch len(cfg.Subjects) {
	case 0:
	case 1:
		c.FilterSubject = cfg.Subjects[0]
	default:
		c.FilterSubjects = cfg.Subjects
	}
	return c
}

// compare names every difference that changes what is delivered, and when. Where the
// consumer began, and how it is stored, is somebody's choice when it is made.
func compare(cfg Config, have, want jetstream.ConsumerConfig) *Plan {
	p := &Plan{Stream: cfg.Stream, Name: cfg.Name, Exists: true, config: have}
	differ := func(field string, h, w any, fixed bool) {
		if ht, wt := fmt.Sprint(h), fmt.Sprint(w); ht != wt {
			p.Changes = append(p.Changes, Change{field, ht, wt, fixed})
		}
	}
	differ("durable", have.Durable, want.Durable, true)
	differ("ack policy", have.AckPolicy, want.AckPolicy, true)
	differ("replay policy", have.ReplayPolicy, want.ReplayPolicy, true)
	differ("ack wait", have.AckWait, want.AckWait, false)
	differ("backoff", len(have.BackOff), 0, false)
	differ("max deliver", deliveries(have.MaxDeliver), deliveries(want.MaxDeliver), false)
	differ("max ack pending", have.MaxAckPending, want.MaxAckPending, false)
	differ("subjects", filters(have), filters(want), false)
	differ("headers only", have.HeadersOnly, want.HeadersOnly, false)
	differ("inactive threshold", have.InactiveThreshold, time.Duration(0), false)
	differ("max batch", have.MaxRequestBatch, 0, false)
	differ("max expires", have.MaxRequestExpires, time.Duration(0), false)
	differ("max bytes", have.MaxRequestMaxBytes, 0, false)
	differ("rate limit", have.RateLimit, 0, false)
	differ("priority policy", int(have.PriorityPolicy), 0, true)
	p.config.AckWait, p.config.BackOff, p.config.MaxDeliver, p.config.MaxAckPending = want.AckWait, nil, want.MaxDeliver, want.MaxAckPending
	p.config.FilterSubject, p.config.FilterSubjects = want.FilterSubject, want.FilterSubjects
	p.config.HeadersOnly, p.config.InactiveThreshold = false, 0
	p.config.MaxRequestBatch, p.config.MaxRequestExpires, p.config.MaxRequestMaxBytes, p.config.RateLimit = 0, 0, 0, 0
	return p
}

func deliveries(n int) string {
	if n <= 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func filters(c jetstream.ConsumerConfig) string {
	all := slices.Clone(c.FilterSubjects)
	if c.FilterSubject != "" {
		all = append(all, c.FilterSubject)
	}
	if len(all) == 0 {
		return ">"
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Apply does what the plan says: it makes the consumer, or changes the one that exists. One that
// changed since the plan was made is not noticed. Errors: [ErrFixed], and those of the broker.
func (p *Plan) Apply(ctx context.Context, js jetstream.JetStream) error {
	var err error
	switch {
	case !p.Exists:
		_, err = js.CreateConsumer(ctx, p.Stream, p.config)
	case slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Fixed }):
		err = ErrFixed
	case len(p.Changes) > 0:
		_, err = js.UpdateConsumer(ctx, p.Stream, p.config)
	}
	if err != nil {
		return fmt.Errorf("apply consumer %s of stream %s: %w", p.Name, p.Stream, err)
	}
	return nil
}

// bind returns the consumer on the stream. One that is absent is made, one that differs is refused.
func (c *Consumer) bind(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.SettleTimeout)
	defer cancel()
	p, err := plan(ctx, c.js, c.cfg)
	if err != nil {
		return nil, err
	}
	if p.Exists && len(p.Changes) > 0 {
		return nil, &DifferenceError{p}
	}
	if !p.Exists {
		// It fails when somebody has made another one meanwhile.
		if err := p.Apply(ctx, c.js); err != nil {
			return nil, err
		}
		c.log.Info("consumer made", "subjects", filters(p.config))
	}
	return c.js.Consumer(ctx, c.cfg.Stream, c.cfg.Name)
}
