package consumers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// reason is why a message was given up; the codes of consumer_dead_letter.
type reason string

const (
	notAnEvent      reason = "not_an_event"
	malformed       reason = "malformed"
	permanentReason reason = "permanent"
	exhausted       reason = "exhausted"
	panicked        reason = "panicked"
)

func reasonOf(err error) reason {
	var invalid *wire.InvalidError
	var unfit *MalformedError
	if errors.As(err, &invalid) || errors.As(err, &unfit) {
		return malformed
	}
	return permanentReason
}

// errTaken: the dead letter of this sequence is about another event.
var errTaken = errors.New("the stream was made anew: this sequence has a dead letter of another event")

// giveUp writes a message down, and then tells the broker. If it cannot be written, it comes again.
// more is how many attempts there were beside those that the inbox has.
func (c *Consumer) giveUp(ctx context.Context, d *delivery, why reason, cause error, more int) deliveryOutcome {
	digest := sha256.Sum256([]byte(cause.Error()))
	attempts, err := c.bury(ctx, d, why, digest[:], more)
	if errors.Is(err, errTaken) {
		c.log.ErrorContext(ctx, "a message cannot be given up", c.about(d, "reason", why, "error", err)...)
		return c.later(ctx, d, deliveryFailed, c.delay(d.times, c.cfg.RetryMax))
	}
	if err != nil {
		return c.outage(ctx, d, err)
	}
	c.log.ErrorContext(ctx, "a message was given up: it is a dead letter", c.about(d, "reason", why, "attempts", attempts,
		"cause", kindOf(cause), "detail_sha256", fmt.Sprintf("%x", digest))...)
	c.log.DebugContext(ctx, "why a message was given up", c.about(d, "error", cause)...)
	return c.term(d, deliveryDead)
}

// bury writes the dead letter, and returns its attempts. One that is there already is left as it is.
func (c *Consumer) bury(ctx context.Context, d *delivery, why reason, digest []byte, more int) (attempts int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.SettleTimeout)
	defer cancel()
	source, id, eventType := d.names()
	err = c.pool.QueryRow(ctx, c.sql.bury, c.cfg.Name, c.cfg.Stream, int64(d.seq), source, id, eventType, string(why), digest, more).Scan(&attempts)
	if err != nil {
		return 0, fmt.Errorf("write dead letter: %w", err)
	}
	if attempts > 0 {
		return attempts, nil
	}
	known, err := c.known(ctx, d)
	switch {
	case err != nil:
		return 0, err
	case !known.same:
		return 0, errTaken
	case known.why != why:
		c.log.WarnContext(ctx, "a dead letter has another reason: the first one stays", c.about(d, "reason", why, "first_reason", known.why)...)
	}
	return 0, nil
}

// buriedMessage is what is known of a message that was given up.
type buriedMessage struct {
	state string
	why   reason
	same  bool // it was this event
}

// known looks for the dead letter of a message. Without one, the zero value is returned.
func (c *Consumer) known(ctx context.Context, d *delivery) (buriedMessage, error) {
	source, id, _ := d.names()
	var b buriedMessage
	err := c.pool.QueryRow(ctx, c.sql.buried, c.cfg.Name, c.cfg.Stream, int64(d.seq), source, id).Scan(&b.state, &b.why, &b.same)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return buriedMessage{}, fmt.Errorf("read dead letter: %w", err)
	}
	return b, nil
}

// buried reports whether a message was given up before.
func (c *Consumer) buried(ctx context.Context, d *delivery) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.SettleTimeout)
	defer cancel()
	b, err := c.known(ctx, d)
	return b.same, err
}

// names are those of the event, all or none: NULL for a message that is no event, or whose names
// the table does not take.
func (d *delivery) names() (source, id, eventType *string) {
	if d.decodeErr != nil || storableEvent(d.event) != nil {
		return nil, nil, nil
	}
	return names(d.event)
}

func names(e event.Event) (source, id, eventType *string) {
	s, i, t := e.Source(), e.ID(), e.Type()
	return &s, &i, &t
}
