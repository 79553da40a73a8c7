package relay

import (
	"context"
	"fmt"
	"time"
)

// probe asks the broker for the stream from time to time, so that an idle relay notices
// that the stream is missing or the server is gone before an event does.
func (r *Relay) probe(soft context.Context) error {
	period := max(r.cfg.UnreadyAfter/3, time.Second)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		r.probeOnce(soft)
		select {
		case <-soft.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (r *Relay) probeOnce(soft context.Context) {
	ctx, cancel := context.WithTimeout(soft, r.cfg.AckTimeout)
	defer cancel()
	known := r.known.last()
	stream, err := r.js.Stream(ctx, r.cfg.Stream)
	switch {
	case soft.Err() != nil:
	case err != nil:
		r.stream.failed(err)
		r.health.brokerFailed(fromProbe, failure{class: Unavailable, err: fmt.Errorf("stream %s: %w", r.cfg.Stream, err)})
	default:
		r.stream.found(stream.CachedInfo().Config)
		if last := stream.CachedInfo().State.LastSeq; r.known.regress(known, last) {
			r.metrics.wentBack(ctx)
			r.log.Error("the stream went back: it was made anew or restored from a copy", "stream", r.cfg.Stream, "had", known, "has", last,
				"hint", "published events may be missing: run `relay reconcile`")
		}
		r.fast.learn(&stream.CachedInfo().Config)
		r.health.brokerOK(fromProbe)
	}
}
