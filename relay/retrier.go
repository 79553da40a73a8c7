package relay

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/relay/retry"
)

const (
	retryClaim   = 64              // rows of one claim; at most one of a key
	retryPauseUp = 2 * time.Second // between two looks while nothing waits
	promoteEvery = 5 * time.Second
)

// retry tries refused events again, and what waits behind them, one of a key at a time. Every
// pod does it, for all lanes of the group: the rows are shared by SKIP LOCKED.
func (r *Relay) retry(soft context.Context) error {
	pause := min(r.cfg.Retry.Initial, retryPauseUp)
	promoted := time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-soft.Done():
			return nil
		case <-timer.C:
		}
		n, err := r.retryDue(soft)
		if err == nil && time.Since(promoted) > promoteEvery {
			promoted = time.Now()
			_, err = r.retries.PromoteLost(soft)
		}
		switch {
		case soft.Err() != nil:
			return nil
		case err != nil:
			r.health.databaseFailed(fromRetrier, err)
			pause = retryPauseUp
		case n > 0:
			// A key leaves one event a round, so the next of it may be due now. It cannot spin:
			// what was claimed is gone, or due later.
			pause = time.Millisecond
		default:
			pause = min(2*pause, retryPauseUp)
		}
		if err == nil {
			r.health.databaseOK(fromRetrier)
		}
		timer.Reset(pause)
	}
}

// retryLease is how long a claim lasts: longer than an attempt should take, and not much longer
// than a lane's lease, so that a killed pod holds up neither.
func (r *Relay) retryLease() time.Duration {
	return min(r.cfg.Lease+2*r.cfg.AckTimeout, time.Hour)
}

// retryDue claims what is due, publishes it and records the outcomes. It returns how many rows
// it claimed.
func (r *Relay) retryDue(soft context.Context) (int, error) {
	claims, err := r.retries.ClaimDue(soft, r.cfg.Owner, r.retryLease(), retryClaim)
	if err == nil && len(claims) == 0 {
		r.health.idle(fromRetrier) // another pod may have published what this one could not
	}
	if err != nil || len(claims) == 0 {
		return 0, err
	}
	// What is claimed is finished, also when the relay stops: it takes one attempt, and StopTimeout
	// at most.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(soft), r.retryLease())
	defer cancel()
	defer context.AfterFunc(soft, func() { time.AfterFunc(r.cfg.StopTimeout, cancel) })()
	b := &batch{events: make([]event, 0, len(claims)), again: true}
	known := make([]retry.Claim, 0, len(claims))
	for _, c := range claims {
		record, err := r.retries.Event(ctx, c)
		if err != nil {
			r.log.Error("read an event that waits: left alone until its lease ends", "event_id", c.EventID, "error", err)
			continue
		}
		b.events = append(b.events, event{Record: record, seq: c.Seq, next: -1})
		known = append(known, c)
	}
	fail := r.send(ctx, fromNoLane, b)
	if fail.class == "" {
		r.health.brokerOK(fromRetrier)
	} else {
		r.health.brokerFailed(fromRetrier, r.explain(ctx, fail))
	}
	for i, c := range known {
		err := r.recordRetry(ctx, c, &b.events[i])
		var invalid *retry.InvalidError
		if errors.Is(err, retry.ErrConflict) || errors.As(err, &invalid) {
			// It is about this event alone: the others are recorded.
			r.log.Warn("record what became of an event that waited: it stays as it is", "event_id", c.EventID, "lane", c.Lane, "error", err)
			continue
		}
		if err != nil {
			return len(claims), err
		}
	}
	return len(claims), nil
}

// recordRetry writes down what became of one event.
func (r *Relay) recordRetry(ctx context.Context, c retry.Claim, e *event) error {
	var outcome retry.Outcome
	switch {
	case e.streamSeq != 0:
		r.known.advance(e.streamSeq)
		outcome = retry.Accepted(r.cfg.Stream, e.streamSeq)
	case e.refused != nil:
		outcome = retry.Retryable(*e.refused)
	default:
		return r.retries.LetGo(ctx, c, r.cfg.RetryMax)
	}
	result, err := r.retries.Record(ctx, c, outcome)
	if err != nil {
		return err
	}
	switch result.Route {
	case retry.DeadLettered:
		r.log.Error("gave up an event: see `relay dead-letter list`", "event_id", c.EventID, "lane", c.Lane,
			"attempts", result.Attempts, "reason", e.refused.Code)
	case retry.RetryScheduled:
		r.log.Debug("an event is refused still", "event_id", c.EventID, "attempts", result.Attempts)
	case retry.Done:
		r.log.Info("an event that waited is published", "event_id", c.EventID, "attempts", c.Attempts)
	}
	r.metrics.retried(ctx, result.Route)
	return nil
}
