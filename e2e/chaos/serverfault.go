package main

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/e2e/fault"
)

// restartLimit bounds the repair of a server, which goes on when the trial is over.
const restartLimit = 3 * time.Minute

func (t *trial) postgresFault(ctx context.Context, step Step) {
	if !lockFor(ctx, &t.postgres) {
		return
	}
	defer t.postgres.Unlock()
	repair, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartLimit)
	defer cancel()
	var err error
	switch step.Kind {
	case terminate:
		err = t.terminateBackends(repair)
	case readOnly:
		err = t.setReadOnly(repair, "on")
		t.tookEffect(step.Kind)
		sleep(ctx, step.For)
		err = errors.Join(err, t.setReadOnly(repair, "off"))
	default:
		err = t.crash(repair, step.Code%2 == 0)
		t.tookEffect(step.Kind)
		sleep(ctx, step.For)
		err = errors.Join(err, t.servers.pg.Start(repair))
	}
	if err != nil {
		t.say("%s: %v", step.Kind, err)
	}
}

// terminateBackends ends the sessions of relays, producers and consumers. It tries until it has: a session
// of ours may have ended with the server.
func (t *trial) terminateBackends(ctx context.Context) error {
	total := 0
	err := t.until(ctx, restartLimit, "the backends are terminated", func(ctx context.Context) (bool, error) {
		for _, prefix := range []string{"relay-", producerName, "consumer-"} {
			n, err := t.count(ctx, terminateSQL, prefix)
			if err != nil {
				return false, err
			}
			total += n
		}
		return true, nil
	})
	if total > 0 {
		t.tookEffect(terminate)
	}
	return err
}

const (
	wasted    = 50                     // transactions
	lookPause = 150 * time.Millisecond // longer than a relay's pause between two looks, on a busy machine too
)

// crash stops the server as a crash would. With waste, transactions begin and roll back before,
// while no producer commits: nothing makes the server write them to the disk, so it will
// give their ids out again. A relay that saw them end must not take the new ones for them.
func (t *trial) crash(ctx context.Context, waste bool) error {
	if !waste {
		return t.servers.pg.Stop(ctx, "immediate")
	}
	quiet := t.entrance.AddLink(fault.LinkRule{Fault: fault.Stall})
	defer quiet.Remove()
	for range wasted {
		if _, err := t.servers.db.Exec(ctx, "BEGIN; SELECT pg_current_xact_id(); ROLLBACK"); err != nil {
			break // a session of ours that ended with the server before: a crash like any other
		}
	}
	sleep(ctx, lookPause)
	return t.servers.pg.Stop(ctx, "immediate")
}

// setReadOnly makes every new transaction one that cannot write, or ends that. It tries until it
// has: a session of ours may have ended with the server.
func (t *trial) setReadOnly(ctx context.Context, value string) error {
	return t.until(ctx, restartLimit, "default_transaction_read_only is "+value, func(ctx context.Context) (bool, error) {
		for _, sql := range []string{"ALTER SYSTEM SET default_transaction_read_only = " + value, "SELECT pg_reload_conf()"} {
			if _, err := t.servers.db.Exec(ctx, sql); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// nodeFault breaks one node at a time, or two when the quorum is to be lost. The next one must
// wait until the cluster is whole again: a cluster that loses a majority for good is
// another matter.
func (t *trial) nodeFault(ctx context.Context, step Step) {
	if !lockFor(ctx, &t.nodes) {
		return
	}
	defer t.nodes.Unlock()
	switch step.Kind {
	case storeRollback:
		t.rollBack(ctx, step)
		return
	case leaderStepDown:
		t.stepDown(ctx)
		return
	}
	nodes := t.servers.nodes.Nodes
	broken := []*fault.Node{nodes[step.Target%len(nodes)]}
	switch step.Kind {
	case leaderKill:
		leader, err := t.servers.nodes.Leader(ctx, streamName)
		if err != nil {
			return // it has none: there is enough going on
		}
		broken[0] = leader
	case quorumKill:
		broken = append(broken, nodes[(step.Target+1)%len(nodes)])
	}
	if t.setup == cluster { // a server alone finds the ids again in its store
		defer t.record.Disruption(string(step.Kind))()
	}
	t.tookEffect(step.Kind)
	for _, node := range broken {
		var err error
		switch step.Kind {
		case nodePause:
			err = node.Pause()
		case nodeStop:
			err = node.Stop()
		default:
			node.Kill()
		}
		if err != nil {
			t.say("%s %s: %v", step.Kind, node.Name(), err)
		}
	}
	sleep(ctx, step.For)
	for _, node := range broken {
		mend := node.Start
		if step.Kind == nodePause {
			mend = node.Resume
		}
		if err := mend(); err != nil {
			t.say("mend %s: %v", node.Name(), err)
		}
	}
	if t.setup == cluster {
		t.awaitStream(ctx, step.Kind)
	}
}

// stepDown has the leader of the stream give its office up, while it serves.
func (t *trial) stepDown(ctx context.Context) {
	defer t.record.Disruption(string(leaderStepDown))()
	if err := t.servers.nodes.StepDown(ctx, streamName); err != nil {
		return // it has no leader: there is enough going on
	}
	t.tookEffect(leaderStepDown)
	t.awaitStream(ctx, leaderStepDown)
}

// awaitStream waits until the stream is whole, or the trial ends.
func (t *trial) awaitStream(ctx context.Context, after Kind) {
	if ctx.Err() != nil {
		return
	}
	if err := t.servers.nodes.AwaitStream(ctx, streamName); err != nil && ctx.Err() == nil {
		t.say("after %s: %v", after, err)
	}
}
