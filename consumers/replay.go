package consumers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/outbox/wire"
)

// replayOutcome is what became of a dead letter that was replayed.
type replayOutcome string

const (
	replayResolved replayOutcome = "resolved" // its effect is proven, or there is none to be had
	replayDead     replayOutcome = "dead"     // it failed again
	replayLater    replayOutcome = "later"    // something is away, or the group is paused: not counted
)

var replayOutcomes = []replayOutcome{replayResolved, replayDead, replayLater}

// letter is a dead letter whose replay this instance has claimed.
type letter struct {
	id, seq    int64
	token      string
	source, of string // of the event; both empty for a message that is none
}

// replay looks for replays that somebody requested: dead letters in the database, and a range on the
// stream. What it applies goes the way of every message.
func (c *Consumer) replay(soft context.Context) error {
	for pause(soft, c.cfg.ReplayEvery) {
		for again := true; again && soft.Err() == nil && !c.paused.Load() && !c.applier.sick(); {
			again = c.replaySome(soft)
		}
	}
	return nil
}

// replaySome takes one dead letter and some of a range, so that neither waits for the end of the other. It
// reports whether there is more at once.
func (c *Consumer) replaySome(soft context.Context) bool {
	letters, err := c.replayLetter(soft)
	if err != nil && soft.Err() == nil {
		c.log.WarnContext(soft, "dead letters cannot be replayed: trying again", "cause", kindOf(err))
	}
	ranges, rangeErr := c.replayRange(soft)
	if rangeErr != nil && soft.Err() == nil {
		c.log.WarnContext(soft, "a range cannot be replayed: trying again", "error", rangeErr)
	}
	return letters && err == nil || ranges && rangeErr == nil
}

// replayLetter replays one dead letter and reports whether to look for another one at once.
func (c *Consumer) replayLetter(soft context.Context) (again bool, err error) {
	l, err := c.claimReplay(soft)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim replay: %w", err)
	}
	why, err := c.replayOnce(soft, l)
	if err == nil {
		return true, c.endReplay(soft, l, replayResolved, why, "", nil)
	}
	switch Classify(err) {
	case PermanentlyFailed, Failed:
		if soft.Err() == nil {
			return true, c.endReplay(soft, l, replayDead, "", reasonAgain(err), err)
		}
	}
	c.log.WarnContext(soft, "a replay waits", "dead_letter", l.id, "stream_seq", l.seq, "cause", kindOf(err))
	return false, c.endReplay(soft, l, replayLater, "", "", nil)
}

// claimReplay takes a dead letter for as long as one handling may take, and its end to be written.
func (c *Consumer) claimReplay(soft context.Context) (l letter, err error) {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	lease := c.cfg.HandleTimeout + 4*c.cfg.SettleTimeout
	err = c.pool.QueryRow(ctx, c.sql.claimReplay, c.cfg.Name, c.cfg.Stream, lease).Scan(&l.id, &l.seq, &l.token, &l.source, &l.of)
	return l, err
}

// errMessageGone and errMessageOther are about the message of a dead letter; nothing mends them.
var (
	errMessageGone  = errors.New("the stream does not have the message any more")
	errMessageOther = errors.New("the stream has another message at this sequence: it was made anew")
)

// replayOnce reads the message again and applies it. why is for the history.
func (c *Consumer) replayOnce(soft context.Context, l letter) (why string, err error) {
	e, err := c.read(soft, l)
	if errors.Is(err, wire.ErrNotCloudEvent) && c.cfg.Foreign == ForeignSkip {
		return "replayed: " + string(deliveryForeign), nil
	}
	if err != nil {
		return "", err
	}
	r, err := c.applier.applyBy(soft, careful, e)
	return "replayed: " + string(r.Outcome), err
}

// read gets the message of a dead letter from the stream.
func (c *Consumer) read(soft context.Context, l letter) (e event.Event, err error) {
	ctx, cancel := context.WithTimeout(soft, c.cfg.SettleTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, c.cfg.Stream)
	if err != nil {
		return e, Unavailable(fmt.Errorf("read stream %s: %w", c.cfg.Stream, err))
	}
	msg, err := stream.GetMsg(ctx, uint64(l.seq))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return e, Permanent(errMessageGone)
	}
	if err != nil {
		return e, Unavailable(fmt.Errorf("read message %d: %w", l.seq, err))
	}
	err = guard(func() (err error) {
		e, err = c.cfg.Decode(msg.Header, msg.Data)
		return err
	})
	switch {
	case err != nil:
		return e, Permanent(err)
	case l.of != "" && (e.Source() != l.source || e.ID() != l.of):
		return e, Permanent(errMessageOther)
	}
	return e, nil
}

// reasonAgain is the code of a dead letter whose replay failed.
func reasonAgain(err error) reason {
	switch {
	case errors.Is(err, wire.ErrNotCloudEvent):
		return notAnEvent
	case errors.As(err, new(*PanicError)):
		return panicked
	case Classify(err) == PermanentlyFailed:
		return reasonOf(err)
	}
	return exhausted
}

// states are those of a dead letter, by how its replay ended.
var replayStates = map[replayOutcome]string{replayResolved: "resolved", replayDead: "dead", replayLater: "replay_requested"}

// endReplay writes down how a replay ended, also while the consumer stops. A claim that ran out meanwhile
// is somebody else's, and ends there.
func (c *Consumer) endReplay(soft context.Context, l letter, o replayOutcome, why string, code reason, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(soft), c.cfg.SettleTimeout)
	defer cancel()
	attempts := 0
	var codeOrNone *string
	var digest []byte
	if o == replayDead {
		sum := sha256.Sum256([]byte(cause.Error()))
		text := string(code)
		attempts, codeOrNone, digest, why = 1, &text, sum[:], "replay failed: "+text
		if errors.Is(cause, errMessageGone) || errors.Is(cause, errMessageOther) {
			why = "replay failed: " + rootOf(cause).Error()
		}
		c.log.ErrorContext(ctx, "a replay failed: the message is a dead letter again", "dead_letter", l.id, "stream_seq", l.seq,
			"reason", code, "cause", kindOf(cause), "detail_sha256", fmt.Sprintf("%x", digest))
	}
	var mine bool
	err := c.pool.QueryRow(ctx, c.sql.endReplay, l.id, l.token, replayStates[o], attempts, codeOrNone, digest, why).Scan(&mine)
	if err != nil {
		return fmt.Errorf("end replay: %w", err)
	}
	c.metrics.replays.Add(ctx, 1, c.metrics.byOutcome[string(o)])
	if o == replayResolved {
		c.log.InfoContext(ctx, "a dead letter was replayed", "dead_letter", l.id, "stream_seq", l.seq, "outcome", why, "claim_kept", mine)
	}
	return nil
}

func rootOf(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
