package consumers

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Several events in one transaction. It is a short cut and never a judgement: whatever goes wrong
// in it rolls all of it back, and each event is handled alone, where errors are classed, counted
// and told. So one bad event costs its neighbours time and nothing else.

// deliverTogether applies what may share a transaction and acknowledges it. It returns what has to
// be handled alone, in order: all of it when anything went wrong.
func (c *Consumer) deliverTogether(hard context.Context, batch []*delivery) (alone []*delivery) {
	if c.paused.Load() || c.applier.sick() {
		return batch
	}
	var together []*delivery
	for _, d := range batch {
		// What comes again may be why its neighbours would come again too.
		if d.decodeErr != nil || d.keyErr != nil || d.times > 1 || d.ended != nil {
			alone = append(alone, d)
			continue
		}
		together = append(together, d)
	}
	if len(together) < 2 || len(alone) > 0 && sharesKey(together, alone) {
		return batch
	}
	events := make([]event.Event, len(together))
	for i, d := range together {
		events[i] = d.event
	}
	results, err := c.applier.applyTogether(hard, events)
	if err != nil {
		c.log.DebugContext(hard, "a batch was rolled back: its events are handled alone", "events", len(events), "cause", kindOf(err))
		return batch
	}
	c.ackTogether(hard, together, results)
	return alone
}

// sharesKey reports whether an event would overtake one of its key.
func sharesKey(together, alone []*delivery) bool {
	keys := map[string]bool{}
	for _, d := range alone {
		keys[d.key] = d.key != ""
	}
	for _, d := range together {
		if keys[d.key] {
			return true
		}
	}
	return false
}

// ackTogether acknowledges what is proven and waits for the broker's word about the last one: it takes the
// acknowledgements of a connection in order. One that is lost over a reconnect comes again, and is proven.
func (c *Consumer) ackTogether(hard context.Context, batch []*delivery, results []Result) {
	for i, d := range batch {
		ctx, span := c.span(hard, d)
		outcome := deliveryOutcome(results[i].Outcome)
		if i+1 < len(batch) {
			outcome = c.ackUnconfirmed(ctx, d, outcome)
		} else {
			outcome = c.ack(ctx, d, outcome)
		}
		c.told(ctx, span, outcome)
		c.done(d)
	}
}

// applyTogether applies events in one transaction and proves the effect of each after the commit.
// After an error nothing is known of any of them: each is to be applied alone.
func (a *Applier) applyTogether(ctx context.Context, events []event.Event) ([]Result, error) {
	for _, e := range events {
		if err := storableEvent(e); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, a.cfg.HandleTimeout)
	defer cancel()
	t := &attempt{}
	done, err := a.bounded(limited, t, func() ([]applied, error) { return a.transaction(limited, t, guarded, events...) })
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(done))
	for i, one := range done {
		if a.cfg.Strict && one.open {
			return nil, errInQuarantine
		}
		results[i] = one.Result
		results[i].Audited = true
	}
	for i, e := range events {
		a.tell(ctx, e, results[i])
	}
	return results, nil
}
