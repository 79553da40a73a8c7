package consumers

import (
	"context"
	"time"
)

// The three ways to settle a message. Each delivery takes exactly one of them, once.

// ack acknowledges and waits until the broker has confirmed it. What is not confirmed is
// delivered again, is proven and acknowledged then.
func (c *Consumer) ack(ctx context.Context, d *delivery, outcome deliveryOutcome) deliveryOutcome {
	d.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.SettleTimeout)
		defer cancel()
		c.held.letGo(d)
		if err := d.msg.DoubleAck(ctx); err != nil {
			c.log.WarnContext(ctx, "an acknowledgement was not confirmed: the message comes again", c.about(d, "error", err)...)
			outcome = deliveryUnsettled
		}
	})
	return outcome
}

// ackUnconfirmed acknowledges without waiting: another acknowledgement behind it is confirmed.
func (c *Consumer) ackUnconfirmed(ctx context.Context, d *delivery, outcome deliveryOutcome) deliveryOutcome {
	d.once.Do(func() {
		c.held.letGo(d)
		if err := d.msg.Ack(); err != nil {
			c.log.WarnContext(ctx, "a message cannot be acknowledged: it comes again", c.about(d, "error", err)...)
			outcome = deliveryUnsettled
		}
	})
	return outcome
}

// later gives a message back, always with a delay.
func (c *Consumer) later(ctx context.Context, d *delivery, outcome deliveryOutcome, delay time.Duration) deliveryOutcome {
	d.once.Do(func() {
		c.held.letGo(d)
		if err := d.msg.NakWithDelay(max(delay, time.Millisecond)); err != nil {
			c.log.DebugContext(ctx, "a message cannot be given back: it comes again after the ack wait", c.about(d, "error", err)...)
		}
	})
	return outcome
}

// term tells the broker to forget a message, which was written down before.
func (c *Consumer) term(d *delivery, outcome deliveryOutcome) deliveryOutcome {
	d.once.Do(func() {
		c.held.letGo(d)
		if err := d.msg.Term(); err != nil {
			c.log.Debug("a message cannot be given up: it comes again after the ack wait", c.about(d, "error", err)...)
		}
	})
	return outcome
}
