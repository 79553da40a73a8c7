package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The faults. Those of relays have a relay as their target, those of consumers a consumer, and those of
// nodes a node.
const (
	relayKill  Kind = "relay_kill"  // SIGKILL, and later a new one
	relayStop  Kind = "relay_stop"  // SIGTERM, which must end it in order, and a new one
	relayPause Kind = "relay_pause" // SIGSTOP, SIGCONT

	consumerKill      Kind = "consumer_kill"       // SIGKILL, and later a new one
	consumerStop      Kind = "consumer_stop"       // SIGTERM, which must end it in order, and a new one
	consumerPause     Kind = "consumer_pause"      // SIGSTOP, SIGCONT
	consumerCut       Kind = "consumer_cut"        // all its connections to the database end
	consumerCommitCut Kind = "consumer_commit_cut" // the answer of one of its commits is lost

	ackCut             Kind = "ack_cut"             // the connection ends before the nth acknowledgement
	ackSwallow         Kind = "ack_swallow"         // n acknowledgements vanish
	ackDuplicate       Kind = "ack_duplicate"       // n come twice
	ackDelay           Kind = "ack_delay"           // n come late
	ackError           Kind = "ack_error"           // n become errors, and the message is stored
	publicationSwallow Kind = "publication_swallow" // n vanish
	publicationError   Kind = "publication_error"   // n get an error
	publicationNobody  Kind = "publication_nobody"  // n find no responder
	publicationRefused Kind = "publication_refused" // n are refused for themselves, again and again
	natsCut            Kind = "nats_cut"            // all connections end
	natsRefuse         Kind = "nats_refuse"         // and no new one is possible
	natsBlackHole      Kind = "nats_black_hole"     // nothing arrives
	natsStall          Kind = "nats_stall"          // everything arrives late
	natsSlow           Kind = "nats_slow"           // few bytes a second

	settleCutAfter  Kind = "settle_cut_after"  // the answer of the nth settle is lost
	settleCutBefore Kind = "settle_cut_before" // the nth settle is lost
	statementFail   Kind = "statement_fail"    // n statements of a relay fail
	statementStall  Kind = "statement_stall"   // n take long
	connectFail     Kind = "connect_fail"      // too many connections
	databaseCut     Kind = "database_cut"      // all connections of a relay end
	databaseStall   Kind = "database_stall"    // everything takes long
	databaseHole    Kind = "database_hole"     // nothing arrives

	commitCutAfter  Kind = "commit_cut_after"  // the answer of a producer's commit is lost
	commitCutBefore Kind = "commit_cut_before" // the commit is lost
	beginFail       Kind = "begin_fail"        // 53000
	producerCut     Kind = "producer_cut"      // all connections of producers end
	producerStall   Kind = "producer_stall"    // everything takes long, also commits

	postgresCrash Kind = "postgres_crash" // immediate stop, and a start
	terminate     Kind = "terminate"      // every backend is terminated
	readOnly      Kind = "read_only"      // as on a standby: 25006 for every write

	nodeKill   Kind = "node_kill"   // SIGKILL, and a start
	nodeStop   Kind = "node_stop"   // SIGTERM, and a start
	nodePause  Kind = "node_pause"  // SIGSTOP, SIGCONT
	leaderKill Kind = "leader_kill" // SIGKILL of the node that leads the stream
	quorumKill Kind = "quorum_kill" // SIGKILL of two nodes

	leaderStepDown Kind = "leader_step_down" // the stream's leader gives its office up
	storeRollback  Kind = "store_rollback"   // an earlier copy of the server's store takes its place
)

// weights say how often each kind is drawn. A set-up leaves out those that it has not.
var weights = []struct {
	kind   Kind
	weight int
	setup  setup // "" for both
}{
	{relayKill, 8, ""}, {relayStop, 3, ""}, {relayPause, 5, ""},
	{ackCut, 5, ""}, {ackSwallow, 4, ""}, {ackDuplicate, 2, ""}, {ackDelay, 3, ""}, {ackError, 2, ""},
	{publicationSwallow, 3, ""}, {publicationError, 3, ""}, {publicationNobody, 2, ""}, {publicationRefused, 3, ""},
	{natsCut, 3, ""}, {natsRefuse, 2, ""}, {natsBlackHole, 2, ""}, {natsStall, 3, ""}, {natsSlow, 2, ""},
	{settleCutAfter, 5, ""}, {settleCutBefore, 3, ""}, {statementFail, 4, ""}, {statementStall, 3, ""}, {connectFail, 2, ""},
	{databaseCut, 3, ""}, {databaseStall, 3, ""}, {databaseHole, 2, ""},
	{commitCutAfter, 5, ""}, {commitCutBefore, 3, ""}, {beginFail, 2, ""}, {producerCut, 2, ""}, {producerStall, 2, ""},
	{postgresCrash, 3, ""}, {terminate, 3, ""}, {readOnly, 2, ""},
	{nodeKill, 4, ""}, {nodeStop, 2, ""}, {nodePause, 3, ""}, {leaderKill, 4, cluster}, {quorumKill, 1, cluster},
	{leaderStepDown, 3, cluster}, {storeRollback, 2, single},
	{consumerKill, 6, ""}, {consumerStop, 2, ""}, {consumerPause, 3, ""}, {consumerCut, 2, ""}, {consumerCommitCut, 4, ""},
}

// Step is one fault of a schedule.
type Step struct {
	At     time.Duration // since the beginning of the load
	Kind   Kind
	Target int           // which relay or node
	For    time.Duration // how long it lasts, or until the next one comes
	N      int           // how many things it concerns, or how many pass before it acts
	Code   int           // which of the errors
}

func (s Step) String() string {
	return fmt.Sprintf("%8.3fs %-20s target %d for %s n %d code %d", s.At.Seconds(), s.Kind, s.Target+1, s.For.Round(time.Millisecond), s.N, s.Code)
}

// meanPause is the mean time between two faults.
const meanPause = 350 * time.Millisecond

// side is a side of the dice.
type side struct {
	kind   Kind
	weight int
}

// sides are the kinds that a set-up can have, of those that are wanted; none means all.
func sides(s setup, only []Kind) (list []side, total int) {
	for _, w := range weights {
		if (w.setup == "" || w.setup == s) && (len(only) == 0 || slices.Contains(only, w.kind)) {
			list = append(list, side{w.kind, w.weight})
			total += w.weight
		}
	}
	return list, total
}

// isKind says whether there is such a fault.
func isKind(k Kind) bool {
	for _, w := range weights {
		if w.kind == k {
			return true
		}
	}
	return false
}

// plan makes the schedule: a function of its arguments and nothing else.
func plan(seed uint64, s setup, length time.Duration, only []Kind) []Step {
	rng := rand.New(rand.NewPCG(seed, s.stream()))
	dice, total := sides(s, only)
	var steps []Step
	if total == 0 {
		return nil // nothing of what is wanted is there
	}
	for at := time.Duration(0); ; {
		at += time.Duration(rng.ExpFloat64() * float64(meanPause))
		if at >= length {
			return steps
		}
		step := Step{At: at.Round(time.Microsecond), Target: rng.IntN(relays), N: rng.IntN(20), Code: rng.IntN(1 << 10)}
		step.Kind = draw(dice, rng.IntN(total))
		step.For = lasting(step.Kind, rng)
		steps = append(steps, step)
	}
}

func draw(dice []side, n int) Kind {
	for _, side := range dice {
		if n -= side.weight; n < 0 {
			return side.kind
		}
	}
	panic("chaos: the dice have no such side")
}

// lasting draws how long a fault lasts: mostly less than a lease, and one in four so long that
// leases end in it.
func lasting(k Kind, rng *rand.Rand) time.Duration {
	d := time.Duration((0.05 + rng.ExpFloat64()) * float64(lease) / 3)
	if rng.IntN(4) == 0 {
		d = lease + time.Duration(rng.Float64()*1.5*float64(lease))
	}
	switch k {
	case natsSlow, ackDelay, statementStall:
		d = min(d, lease)
	case postgresCrash, quorumKill, readOnly:
		d = min(d, lease/2)
	case storeRollback: // what is stored meanwhile is lost
		d = min(max(d, lease/4), lease)
	}
	return d.Round(time.Millisecond)
}
