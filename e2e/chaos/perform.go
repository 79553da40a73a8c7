package main

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// perform makes one fault and ends it. It returns when the fault is over; at the end of the
// trial that is at once.
func (t *trial) perform(ctx context.Context, step Step) {
	s := t.slots[step.Target]
	switch step.Kind {
	case relayKill, relayStop, relayPause:
		t.relayFault(ctx, s, step)
	case nodeKill, nodeStop, nodePause, leaderKill, quorumKill, leaderStepDown, storeRollback:
		t.nodeFault(ctx, step)
	case consumerKill, consumerStop, consumerPause, consumerCut, consumerCommitCut:
		t.consumerFault(ctx, step)
	case postgresCrash, terminate, readOnly:
		t.postgresFault(ctx, step)
	case commitCutAfter, commitCutBefore, beginFail, producerCut, producerStall:
		t.producerFault(ctx, step)
	case settleCutAfter, settleCutBefore, statementFail, statementStall, connectFail, databaseCut, databaseStall, databaseHole:
		t.databaseFault(ctx, s, step)
	default:
		t.natsFault(ctx, s, step)
	}
}

// count records that a fault took effect.
func (t *trial) tookEffect(k Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hits[k]++
}

// lockFor takes a resource, unless the trial ends first.
func lockFor(ctx context.Context, resource *sync.Mutex) bool {
	for !resource.TryLock() {
		if !sleep(ctx, pollEvery) {
			return false
		}
	}
	if ctx.Err() != nil {
		resource.Unlock()
		return false
	}
	return true
}

func (t *trial) relayFault(ctx context.Context, s *slot, step Step) {
	if !lockFor(ctx, &s.busy) {
		return
	}
	defer s.busy.Unlock()
	t.tookEffect(step.Kind)
	switch step.Kind {
	case relayPause:
		s.try("pause", s.process().Pause())
		sleep(ctx, step.For)
		s.try("resume", s.process().Resume())
		return
	case relayStop:
		s.stop()
	default:
		s.kill()
	}
	sleep(ctx, step.For)
	s.try("start", s.start())
}

// try notes what should not have failed.
func (sl *slot) try(what string, err error) {
	if err != nil {
		sl.fault("%s: %v", what, err)
	}
}

// during has handles of rules in place for a time, and counts the fault if one has acted. A
// rule for a number of things may go when it has acted on all of them.
func (t *trial) during(ctx context.Context, step Step, times int, handles ...*fault.Handle) {
	deadline := time.Now().Add(step.For)
	hits := 0
	for {
		hits = 0
		for _, h := range handles {
			hits += h.Hits()
		}
		if times > 0 && hits >= times || !sleep(ctx, min(pollEvery, time.Until(deadline))) || !time.Now().Before(deadline) {
			break
		}
	}
	for _, h := range handles {
		h.Remove()
	}
	if hits > 0 {
		t.tookEffect(step.Kind)
	}
}

// errorCodes are answers that say nothing about the event: a stream that is full, a server that
// has no room or no leader, a duplicate in process, too many requests.
var errorCodes = []fault.Reply{
	fault.JetStreamError(503, 10077, "maximum messages exceeded"),
	fault.JetStreamError(503, 10023, "insufficient resources"),
	fault.JetStreamError(503, 10008, "JetStream system temporarily unavailable"),
	fault.JetStreamError(409, 10158, "duplicate message id is in process"),
	fault.JetStreamError(429, 10167, "too many requests"),
	fault.JetStreamError(503, 10009, "JetStream cluster has no leader"),
}

// tooLarge says that something is wrong with the event.
var tooLarge = fault.JetStreamError(400, 10054, "message size exceeds maximum allowed")

func (t *trial) natsFault(ctx context.Context, s *slot, step Step) {
	times := 1 + step.N
	rule := fault.NATSRule{Match: fault.At(fault.OnAck), Times: times}
	switch step.Kind {
	case ackCut:
		rule.After, rule.Times, rule.Do = step.N, 1, fault.Cut()
		times = 1
	case ackSwallow:
		rule.Do = fault.Swallow()
	case ackDuplicate:
		rule.Do = fault.Duplicate(1 + step.Code%2)
	case ackDelay:
		rule.Do = fault.Delay(step.For)
	case ackError:
		rule.Do = fault.Answer(errorCodes[step.Code%len(errorCodes)])
	case publicationSwallow:
		rule.Match, rule.Do = fault.At(fault.OnPublication), fault.Swallow()
	case publicationError:
		rule.Match, rule.Do = fault.At(fault.OnPublication), fault.Answer(errorCodes[step.Code%len(errorCodes)])
	case publicationRefused:
		times = 1 + step.N%4
		rule.Match, rule.Times, rule.After, rule.Do = fault.At(fault.OnPublication), times, step.N, fault.Answer(tooLarge)
	case publicationNobody:
		rule.Match, rule.Do = fault.At(fault.OnPublication), fault.Answer(fault.NoResponders())
	default:
		t.linkFault(ctx, s, step)
		return
	}
	var handles []*fault.Handle
	for _, proxy := range s.nats {
		handles = append(handles, proxy.Add(rule))
	}
	step.For = max(step.For, lease) // long enough that something comes along
	t.during(ctx, step, times, handles...)
}

// linkFaults say which rule a fault of a link is.
var linkFaults = map[Kind]fault.LinkRule{
	natsRefuse:    {Fault: fault.Refuse},
	natsBlackHole: {Fault: fault.BlackHole},
	natsStall:     {Fault: fault.Stall},
	natsSlow:      {Fault: fault.Slow, BytesPerSecond: 20_000},
	databaseStall: {Fault: fault.Stall},
	databaseHole:  {Fault: fault.BlackHole},
	producerStall: {Fault: fault.Stall},
}

func (t *trial) linkFault(ctx context.Context, s *slot, step Step) {
	var handles []*fault.Handle
	cut := 0
	for _, proxy := range s.nats {
		if step.Kind != natsCut {
			handles = append(handles, proxy.AddLink(linkFaults[step.Kind]))
		}
		if step.Kind == natsCut || step.Kind == natsRefuse {
			cut += proxy.CutAll()
		}
	}
	if step.Kind == natsCut {
		if cut > 0 {
			t.tookEffect(step.Kind)
		}
		return
	}
	t.during(ctx, step, 0, handles...)
}

// settles matches the statement with which a relay moves a cursor.
var settles = fault.Executes("INSERT INTO outbox.outbox_batch")

// sqlstates are errors that pass: resources, a standby, an administrator.
var sqlstates = []string{"53000", "25006", "57P01", "40001", "53200"}

func (t *trial) databaseFault(ctx context.Context, s *slot, step Step) {
	times := 1 + step.N%5
	rule := fault.PostgresRule{Match: settles, After: step.N % 4, Times: 1}
	switch step.Kind {
	case databaseCut:
		if s.pg.CutAll() > 0 {
			t.tookEffect(step.Kind)
		}
		return
	case databaseStall, databaseHole:
		t.during(ctx, step, 0, s.pg.AddLink(linkFaults[step.Kind]))
		return
	case settleCutAfter:
		times, rule.Do = 1, fault.CutAfter()
	case settleCutBefore:
		times, rule.Do = 1, fault.CutBefore()
	case statementFail:
		rule.Match, rule.After, rule.Times = fault.AnyStatement, step.N, times
		rule.Do = fault.Fail(sqlstates[step.Code%len(sqlstates)])
		if sqlstates[step.Code%len(sqlstates)] == "57P01" {
			rule.Do = fault.FailFatally("57P01")
		}
	case statementStall:
		rule.Match, rule.After, rule.Times, rule.Do = fault.AnyStatement, step.N, times, fault.StallFor(step.For)
	case connectFail:
		rule.Match, rule.After, rule.Times, rule.Do = fault.Connects, 0, 0, fault.Fail("53300")
		handle := s.pg.Add(rule)
		s.pg.CutAll()
		t.during(ctx, step, 0, handle)
		return
	}
	step.For = max(step.For, lease)
	t.during(ctx, step, times, s.pg.Add(rule))
}

func (t *trial) producerFault(ctx context.Context, step Step) {
	rule := fault.PostgresRule{Match: fault.Commits, After: step.N, Times: 1 + step.Code%3}
	switch step.Kind {
	case producerCut:
		if t.entrance.CutAll() > 0 {
			t.tookEffect(step.Kind)
		}
		return
	case producerStall:
		t.during(ctx, step, 0, t.entrance.AddLink(linkFaults[step.Kind]))
		return
	case commitCutAfter:
		rule.Do = fault.CutAfter()
	case commitCutBefore:
		rule.Do = fault.CutBefore()
	case beginFail:
		rule.Match, rule.Do = fault.Begins, fault.Fail("53000")
	}
	step.For = max(step.For, lease)
	t.during(ctx, step, rule.Times, t.entrance.Add(rule))
}
