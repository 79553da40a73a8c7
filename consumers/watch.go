package consumers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// control follows the switch of the group. While it cannot be read, the last state stays: each
// transaction reads it again.
func (c *Consumer) control(soft context.Context) error {
	for {
		ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
		var paused bool
		err := c.pool.QueryRow(ctx, c.sql.paused, c.cfg.Group).Scan(&paused)
		cancel()
		switch {
		case soft.Err() != nil:
			return nil
		case err != nil:
			c.log.WarnContext(soft, "the switch cannot be read", "cause", kindOf(err))
		case c.paused.Swap(paused) != paused:
			c.log.InfoContext(soft, "the switch was turned", "group", c.cfg.Group, "paused", paused)
			c.arrived.Store(int64(time.Since(c.began)))
		}
		c.metrics.keep(func(m *measurement) {
			m.held = int64(c.held.count())
			m.paused = 0
			if c.paused.Load() {
				m.paused = 1
			}
		})
		if !pause(soft, c.cfg.ControlEvery) {
			return nil
		}
	}
}

// watch measures the consumer and the database, and looks whether all is as it should be.
func (c *Consumer) watch(soft context.Context) error {
	for pause(soft, min(c.cfg.MeasureEvery, c.cfg.SilentAfter)) {
		if err := c.measure(soft); err != nil && soft.Err() == nil {
			c.log.WarnContext(soft, "what waits for a person cannot be counted", "cause", kindOf(err))
		}
		if err := c.look(soft); err != nil && soft.Err() == nil {
			c.log.WarnContext(soft, "the consumer cannot be looked at", "error", err)
		}
	}
	return nil
}

func (c *Consumer) measure(soft context.Context) error {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	var quarantine, dead int64
	var oldest float64
	if err := c.pool.QueryRow(ctx, c.sql.measure, c.cfg.Name).Scan(&quarantine, &dead, &oldest); err != nil {
		return err
	}
	c.metrics.keep(func(m *measurement) {
		m.quarantine, m.dead, m.oldestDead, m.database = quarantine, dead, oldest, time.Now().Add(3*c.cfg.MeasureEvery+time.Minute)
	})
	return nil
}

// look reads the consumer on the stream. A difference ends the run, because what the broker does
// then is not what was promised.
func (c *Consumer) look(soft context.Context) error {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, c.cfg.Stream, c.cfg.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c.ask() // it is made again
		return err
	}
	if err != nil {
		return err
	}
	info := consumer.CachedInfo()
	c.metrics.keep(func(m *measurement) {
		m.pending, m.ackPending, m.broker = int64(info.NumPending), int64(info.NumAckPending), time.Now().Add(3*c.cfg.MeasureEvery+time.Minute)
	})
	if p := compare(c.cfg, info.Config, wanted(c.cfg)); len(p.Changes) > 0 {
		c.metrics.drifts.Add(soft, 1, c.metrics.mine)
		c.refuse(&DifferenceError{p})
		return nil
	}
	c.silence(soft, info)
	return nil
}

// silence finds a consumer to which nothing comes, and which settles nothing, although messages are pending; it
// asks anew and says so. Too many that wait for an acknowledgement are a reason, and said as one. An instance that has
// all that it can hold asks for nothing, and is not silent. Handlers that do not come back are told whatever else arrives.
func (c *Consumer) silence(soft context.Context, info *jetstream.ConsumerInfo) {
	if stuck := c.applier.stuck.Load(); stuck > 0 {
		c.metrics.silences.Add(soft, 1, c.metrics.mine)
		c.log.ErrorContext(soft, "handlers or proofs do not come back although their context has ended", "handlers", stuck, "gives_back_everything", c.applier.sick())
	}
	quiet := time.Since(c.began) - time.Duration(max(c.arrived.Load(), c.settled.Load()))
	if info.NumPending == 0 || quiet < c.cfg.SilentAfter || c.paused.Load() || c.held.full() {
		return
	}
	c.metrics.silences.Add(soft, 1, c.metrics.mine)
	c.arrived.Store(int64(time.Since(c.began)))
	full := info.NumAckPending >= c.cfg.MaxAckPending
	c.log.ErrorContext(soft, "messages are pending and none arrives: asking anew", "pending", info.NumPending, "held", c.held.count(),
		"ack_pending", info.NumAckPending, "ack_pending_full", full, "silent", quiet.Round(time.Second))
	c.ask()
}

// ask has messages asked for anew.
func (c *Consumer) ask() {
	select {
	case c.renew <- struct{}{}:
	default:
	}
}

// maxDeliveries is the advisory by which the broker says that it will not deliver a message again.
type maxDeliveries struct {
	StreamSeq  uint64 `json:"stream_seq"`
	Deliveries uint64 `json:"deliveries"`
}

// listen takes advisories of the broker. Nothing depends on them: a consumer that is as wanted
// has no limit, and our own counter decides. It returns what ends it.
func (c *Consumer) listen(soft context.Context) (end func()) {
	subject := "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + c.cfg.Stream + "." + c.cfg.Name
	sub, err := c.js.Conn().Subscribe(subject, func(m *nats.Msg) {
		var a maxDeliveries
		if json.Unmarshal(m.Data, &a) != nil {
			return
		}
		c.metrics.exhausted.Add(soft, 1, c.metrics.mine)
		c.log.ErrorContext(soft, "the broker gives a message up, which it should never do: look at the limit of deliveries of the consumer",
			"stream_seq", a.StreamSeq, "deliveries", a.Deliveries)
	})
	if err != nil {
		c.log.WarnContext(soft, "advisories of the broker cannot be heard", "error", err)
		return func() {}
	}
	return func() { _ = sub.Unsubscribe() } // the connection may be closed already
}
