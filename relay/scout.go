package relay

import (
	"context"
	"time"
)

// stayShort is how long the pause between looks stays short after one that found something: more than
// 20 events a second are looked for without a delay that grew between them.
const stayShort = 50 * time.Millisecond

// scout looks for lanes with new events and starts a goroutine for each. A look is one
// statement for all idle lanes. The pause between looks is short until nothing was found
// for a while, and then it grows. A wake-up ends it, but not more often than once in WakeGap,
// however many arrive.
func (r *Relay) scout(soft context.Context) error {
	pause := r.cfg.PollMin
	retry := backoff{min: r.cfg.RetryMin, max: r.cfg.RetryMax}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var looked, hit time.Time
	for {
		select {
		case <-soft.Done():
			return nil
		case <-timer.C:
		case <-r.kick:
		case <-r.woken:
			if early := r.cfg.WakeGap - time.Since(looked); early > 0 {
				timer.Reset(early)
				continue
			}
		}
		looked = time.Now()
		found, err := r.look(soft)
		switch {
		case soft.Err() != nil:
			return nil
		case err != nil:
			r.health.databaseFailed(fromScout, err)
			timer.Reset(retry.step())
		case found > 0:
			retry.reset()
			pause, hit = r.cfg.PollMin, looked
			timer.Reset(pause)
		default:
			retry.reset()
			if looked.Sub(hit) > stayShort {
				pause = min(pause+pause/2, r.cfg.PollMax)
			}
			timer.Reset(pause)
		}
	}
}

// look asks which idle lanes have candidates, moves the cursors of the others, and starts
// draining. It returns how many lanes it started.
func (r *Relay) look(soft context.Context) (int, error) {
	idle := r.idleLanes()
	if len(idle) == 0 {
		r.health.gone(fromScout) // nobody was asked
		return 0, nil
	}
	numbers := make([]int16, len(idle))
	drained := make([]string, len(idle))
	r.mu.Lock()
	for i, l := range idle {
		numbers[i], drained[i] = l.number, l.cur.drained
	}
	r.mu.Unlock()
	ctx, cancel := r.soon(soft)
	defer cancel()
	found, err := r.db.scout(ctx, numbers, drained)
	if err != nil {
		return 0, err
	}
	r.health.databaseOK(fromScout)
	started, foreign := r.startLanes(soft, idle, found)
	if len(foreign) > 0 {
		r.forget(foreign...)
	}
	return started, nil
}

// startLanes starts draining the lanes that have candidates and moves the cursors of the
// others. It returns how many it started, and the lanes that another incarnation of the
// server was claimed from.
func (r *Relay) startLanes(soft context.Context, idle []*lane, found scouted) (started int, foreign []*lane) {
	wanted := make(map[int16]bool, len(found.hits))
	for _, n := range found.hits {
		wanted[n] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range idle {
		// Only the scout starts lanes, so an idle lane is idle still; it may be gone.
		if r.lanes[l.number] != l || l.leaving || l.ctx.Err() != nil {
			continue
		}
		if l.incarnation != found.incarnation {
			foreign = append(foreign, l)
			continue
		}
		if !wanted[l.number] && l.cur.target == "" {
			l.cur.drained = found.snapshot
			l.behind = nil // a previous owner left nothing
			continue
		}
		l.busy = true
		r.draining.Add(1)
		started++
		go r.drainPart(soft, l)
	}
	return started, foreign
}

func (r *Relay) idleLanes() []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := make([]*lane, 0, len(r.lanes))
	for _, l := range r.lanes {
		if !l.busy && !l.leaving {
			idle = append(idle, l)
		}
	}
	return idle
}
