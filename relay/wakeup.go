package relay

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// subscribe wakes the scout when a producer says over core NATS that there is something to
// drain. The client subscribes again after each reconnect by itself. Without a
// subscription the relay polls, as it does anyway.
func (r *Relay) subscribe(soft context.Context) error {
	if r.cfg.WakeSubject == "" {
		<-soft.Done()
		return nil
	}
	pause := backoff{min: r.cfg.RetryMin, max: r.cfg.UnreadyAfter}
	told := false
	for {
		err := r.hear(soft, &told)
		if errors.Is(err, nats.ErrConnectionClosed) {
			<-soft.Done() // for good: nobody will say anything
		}
		if soft.Err() != nil {
			return nil
		}
		if !told {
			told = true
			r.log.Warn("no wake-ups over NATS: the relay polls", "subject", r.cfg.WakeSubject, "error", err,
				"hint", "let the relay's user subscribe to the subject, or unset RELAY_WAKE_SUBJECT")
		}
		if !pause.wait(soft, nil) {
			return nil
		}
	}
}

// hear takes wake-ups from one subscription until it ends.
func (r *Relay) hear(soft context.Context, told *bool) error {
	sub, err := r.js.Conn().SubscribeSync(r.cfg.WakeSubject)
	if err != nil {
		return err
	}
	// NextMsg, and not its variant with a context, learns that a subscription was refused.
	end := func() { _ = sub.Unsubscribe() } // fails only when it is gone already
	defer end()
	defer context.AfterFunc(soft, end)()
	for {
		_, err := sub.NextMsg(time.Minute)
		if errors.Is(err, nats.ErrTimeout) {
			continue
		}
		if err != nil && !errors.Is(err, nats.ErrSlowConsumer) { // a slow consumer has lost wake-ups, and has others
			return err
		}
		if *told {
			*told = false
			r.log.Info("wake-ups over NATS arrive", "subject", r.cfg.WakeSubject)
		}
		r.wakeUp()
	}
}

// wakeUp tells the scout that a producer has staged something.
func (r *Relay) wakeUp() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// listenProbe is how often the relay proves that what it listens to arrives.
func (r *Relay) listenProbe() time.Duration { return max(2*r.cfg.UnreadyAfter, time.Second) }
