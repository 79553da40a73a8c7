package relay

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// steward keeps the lanes: it renews leases, claims free lanes up to the fair share, hands back
// what is over it, and drops what it could not renew in time. It has a connection of
// its own, so a slow broker or a full pool cannot starve it.
func (r *Relay) steward(soft, hard context.Context) error {
	tick := min(r.cfg.Lease/6, 500*time.Millisecond)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var renewed time.Time
	share := 0
	for {
		if time.Since(renewed) >= r.cfg.Lease/3 {
			start := time.Now()
			if s, err := r.renew(soft); err == nil {
				share, renewed = s, start
			} else if soft.Err() == nil {
				r.health.databaseFailed(err)
			}
		}
		r.dropExpired()
		r.balance(soft, hard, share)
		select {
		case <-soft.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// renew renews every lane and the pod itself, drops the lanes that are no longer its own, and
// returns the fair share: ceil(lanes / live pods).
func (r *Relay) renew(ctx context.Context) (share int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Lease/2)
	defer cancel()
	var m renewal
	r.mu.Lock()
	held := make([]*lane, 0, len(r.lanes))
	for _, l := range r.lanes {
		held = append(held, l)
		m.lanes = append(m.lanes, l.number)
		m.tokens = append(m.tokens, l.token)
		m.stored = append(m.stored, l.stored)
		drained := l.stored
		if !l.busy && l.cur.target == "" {
			drained = l.cur.drained
		}
		m.drained = append(m.drained, drained)
	}
	r.mu.Unlock()

	start := time.Now()
	kept, pods, lanes, err := r.control.renew(ctx, r.cfg, m)
	if err != nil {
		return 0, err
	}
	owned := make(map[int16]bool, len(kept))
	for _, n := range kept {
		owned[n] = true
	}
	for i, l := range held {
		if !owned[l.number] {
			r.lose(l)
			continue
		}
		r.mu.Lock()
		l.validUntil = start.Add(r.cfg.Lease)
		if l.stored == m.stored[i] {
			l.stored = m.drained[i]
		}
		r.mu.Unlock()
	}
	r.metrics.owned(ctx, len(kept))
	return (lanes + pods - 1) / pods, nil
}

// dropExpired gives up lanes whose lease this pod can no longer trust: the database may
// have given them to another pod while it could not be reached.
func (r *Relay) dropExpired() {
	now := time.Now()
	r.mu.Lock()
	var expired []*lane
	for _, l := range r.lanes {
		if now.After(l.validUntil) {
			expired = append(expired, l)
		}
	}
	r.mu.Unlock()
	for _, l := range expired {
		r.lose(l)
	}
}

// balance claims lanes while the pod has fewer than its share, and hands idle ones back
// while it has more. A busy lane leaves after its present round.
func (r *Relay) balance(soft, hard context.Context, share int) {
	r.mu.Lock()
	have := len(r.lanes)
	if have <= share {
		for _, l := range r.lanes {
			l.leaving = false
		}
	}
	r.mu.Unlock()
	switch {
	case share == 0 || soft.Err() != nil:
	case have < share:
		if err := r.claim(soft, hard, share-have); err != nil && soft.Err() == nil {
			r.health.databaseFailed(err)
		}
	case have > share:
		r.handBack(soft, r.takeIdle(have-share))
	}
}

func (r *Relay) claim(soft, hard context.Context, limit int) error {
	ctx, cancel := context.WithTimeout(soft, r.cfg.Lease/2)
	defer cancel()
	free, err := r.control.free(ctx, r.cfg.Group)
	if err != nil || !free {
		return err
	}
	start := time.Now()
	claimed, err := r.control.claim(ctx, r.cfg, limit)
	if err != nil {
		return err
	}
	r.mu.Lock()
	for _, c := range claimed {
		l := &lane{number: c.lane, token: c.token, cur: c.cur, stored: c.cur.drained,
			validUntil: start.Add(r.cfg.Lease), limit: r.cfg.BatchSize}
		l.ctx, l.cancel = context.WithCancelCause(hard)
		r.lanes[c.lane] = l
	}
	have := len(r.lanes)
	r.mu.Unlock()
	if len(claimed) > 0 {
		r.log.Info("lanes claimed", "claimed", len(claimed), "lanes", have)
		r.wake()
	}
	return nil
}

// takeIdle removes up to n idle lanes from the pod's own, so that the scout cannot start them.
// When there are fewer, it marks busy ones to leave.
func (r *Relay) takeIdle(n int) []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []*lane
	leaving := 0
	for number, l := range r.lanes {
		if len(taken) < n && !l.busy && !l.unclean {
			delete(r.lanes, number)
			taken = append(taken, l)
		} else if l.leaving {
			leaving++
		}
	}
	for _, l := range r.lanes {
		if len(taken)+leaving < n && !l.leaving {
			l.leaving = true
			leaving++
		}
	}
	return taken
}

// handBack gives lanes back. When that fails their leases end by themselves.
func (r *Relay) handBack(ctx context.Context, lanes []*lane) {
	if len(lanes) == 0 {
		return
	}
	numbers := make([]int16, len(lanes))
	tokens := make([]uuid.UUID, len(lanes))
	for i, l := range lanes {
		numbers[i], tokens[i] = l.number, l.token
		l.cancel(errStopping)
		r.health.laneGone(l.number)
	}
	if err := r.control.handBack(ctx, r.cfg.Group, numbers, tokens); err != nil {
		r.log.Warn("hand back lanes: their leases will end by themselves", "lanes", len(lanes), "error", err)
		return
	}
	r.log.Info("lanes handed back", "lanes", len(lanes))
}

// handBackAll is the end of a stop: every goroutine that drained has returned.
func (r *Relay) handBackAll(ctx context.Context) {
	r.mu.Lock()
	n := len(r.lanes)
	r.mu.Unlock()
	r.handBack(ctx, r.takeIdle(n))
	r.mu.Lock()
	for _, l := range r.lanes {
		l.cancel(errStopping)
	}
	r.lanes = map[int16]*lane{}
	r.mu.Unlock()
	if err := r.control.leave(ctx, r.cfg.Group, r.cfg.Owner); err != nil {
		r.log.Warn("leave the group: the pod counts as live until its lease ends", "error", err)
	}
}
