package relay

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/outbox"
)

// steward keeps the lanes: it renews leases, claims free lanes up to the fair share, hands back
// what is over it, and drops what it could not renew in time. It has a connection of
// its own, so a slow broker or a full pool cannot starve it.
func (r *Relay) steward(soft, hard context.Context) error {
	tick := min(r.cfg.Lease/6, 500*time.Millisecond)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var s share
	for {
		switch err := r.tend(soft, hard, &s); {
		case err == nil:
			r.health.databaseOK(fromSteward)
		case errors.Is(err, outbox.ErrForeignCluster):
			return withHint(err)
		case soft.Err() == nil:
			r.health.databaseFailed(fromSteward, err)
		}
		r.dropExpired()
		select {
		case <-soft.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// share is how many lanes this pod may own, as it was at the last renewal. It belongs to
// the steward.
type share struct {
	lanes int
	at    time.Time // when the renewal was sent
}

// tend does what is due now.
func (r *Relay) tend(soft, hard context.Context, s *share) error {
	if time.Since(s.at) >= r.cfg.Lease/3 {
		if err := r.renewShare(soft, s); err != nil {
			return err
		}
	}
	free, err := r.findFree(soft)
	if err != nil {
		return err
	}
	if free && r.owned() >= s.lanes {
		// A pod stopped or died, so the share is larger than this pod knows.
		if err := r.renewShare(soft, s); err != nil {
			return err
		}
	}
	return r.balance(soft, hard, s.lanes, free)
}

func (r *Relay) renewShare(ctx context.Context, s *share) error {
	start := time.Now()
	lanes, err := r.renew(ctx)
	if err != nil {
		return err
	}
	s.lanes, s.at = lanes, start
	return nil
}

func (r *Relay) findFree(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Lease/2)
	defer cancel()
	return r.control.free(ctx, r.cfg.Group)
}

// owned counts the lanes of this pod.
func (r *Relay) owned() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lanes)
}

// renew renews every lane and the pod itself, drops the lanes that are no longer its own, and
// returns the fair share: ceil(lanes / live pods).
func (r *Relay) renew(ctx context.Context) (share int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Lease/2)
	defer cancel()
	var m renewal
	// Taken before it is seen which lanes are idle: what these publish later comes after it.
	known := int64(r.known.last())
	r.mu.Lock()
	held := make([]*lane, 0, len(r.lanes))
	for _, l := range r.lanes {
		held = append(held, l)
		m.lanes = append(m.lanes, l.number)
		m.tokens = append(m.tokens, l.token)
		m.stored = append(m.stored, l.stored)
		drained, lower := l.stored, int64(0)
		if !l.busy && !l.unclean && l.cur.target == "" {
			drained = l.cur.drained
			if l.behind == nil {
				lower = known
			}
		}
		m.drained, m.known = append(m.drained, drained), append(m.known, lower)
		m.incarnation = append(m.incarnation, l.incarnation)
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
	var lost []*lane
	for i, l := range held {
		if !owned[l.number] {
			lost = append(lost, l)
			continue
		}
		r.mu.Lock()
		l.validUntil = start.Add(r.cfg.Lease)
		if l.stored == m.stored[i] {
			l.stored = m.drained[i]
		}
		r.mu.Unlock()
	}
	r.lose(errLaneLost, lost...)
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
	r.lose(errLaneLost, expired...)
}

// balance claims lanes while the pod has fewer than its share, and hands idle ones back
// while it has more. A busy lane leaves after its present round.
func (r *Relay) balance(soft, hard context.Context, share int, free bool) error {
	r.mu.Lock()
	have := len(r.lanes)
	if have <= share {
		for _, l := range r.lanes {
			l.leaving = false
		}
	}
	r.mu.Unlock()
	switch {
	case have < share && free:
		return r.claim(soft, hard, share-have)
	case have > share:
		r.handBack(soft, r.takeIdle(have-share))
	}
	return nil
}

func (r *Relay) claim(soft, hard context.Context, limit int) error {
	ctx, cancel := context.WithTimeout(soft, r.cfg.Lease/2)
	defer cancel()
	start := time.Now()
	claimed, err := r.control.claim(ctx, r.cfg, limit)
	if err != nil {
		return err
	}
	behind := lookBackFor(claimed)
	r.mu.Lock()
	for _, c := range claimed {
		l := &lane{number: c.lane, token: c.token, incarnation: c.incarnation, cur: c.cur, stored: c.cur.drained,
			validUntil: start.Add(r.cfg.Lease), limit: r.cfg.BatchSize, mayBlock: true}
		if c.previous != "" {
			l.behind = behind
		}
		l.ctx, l.cancel = context.WithCancelCause(hard)
		if old := r.lanes[c.lane]; old != nil {
			old.cancel(errLaneLost) // its lease ended while this claim was on its way
		}
		r.lanes[c.lane] = l
	}
	have := len(r.lanes)
	r.mu.Unlock()
	if len(claimed) == 0 {
		return r.verifyHome(ctx)
	}
	r.metrics.changed(ctx, len(claimed), laneClaimed)
	r.log.Info("lanes claimed", "claimed", len(claimed), "lanes", have)
	r.wake()
	return nil
}

// verifyHome asks why there was nothing to claim. Others were faster, or another cluster answers
// where that of the relay was, after a blue/green switch or a fail-over to a copy: then the
// error says so, and no waiting mends it.
func (r *Relay) verifyHome(ctx context.Context) error {
	home, err := r.control.home(ctx)
	if err != nil || home {
		return err
	}
	return verify(ctx, r.control.pool, r.cfg.Schema)
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

// handBack gives lanes back. When that fails their leases end by themselves. A lane that was not
// drained past what its previous owner may have published is not clean: its lease ends, and its
// next owner looks back as this one would have.
func (r *Relay) handBack(ctx context.Context, lanes []*lane) {
	if len(lanes) == 0 {
		return
	}
	var clean, unclean []*lane
	for _, l := range lanes {
		l.cancel(errStopping)
		r.health.gone(l.number)
		if l.behind == nil {
			clean = append(clean, l)
		} else {
			unclean = append(unclean, l)
		}
	}
	numbers, tokens := claimsOf(unclean)
	err := r.control.abandon(ctx, r.cfg.Group, numbers, tokens)
	numbers, tokens = claimsOf(clean)
	if err := errors.Join(err, r.control.handBack(ctx, r.cfg.Group, numbers, tokens)); err != nil {
		r.log.Warn("hand back lanes: their leases will end by themselves", "lanes", len(lanes), "error", err)
		return
	}
	r.metrics.changed(ctx, len(lanes), laneHandedBack)
	r.log.Info("lanes handed back", "lanes", len(lanes))
}

// claimsOf returns the numbers and tokens of lanes, for a statement.
func claimsOf(lanes []*lane) (numbers []int16, tokens []string) {
	for _, l := range lanes {
		numbers, tokens = append(numbers, l.number), append(tokens, l.token)
	}
	return numbers, tokens
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
