package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// Work is what an operation does.
type Work struct {
	// Steps are made one after the other.
	Steps []Step
	// Final is the last part, in a READ COMMITTED transaction that has locked the subject again. It
	// writes the result, stages the coordinator's own events, consumes the subject, and returns the
	// answer for the client, a JSON document. remote has the remote ids of the steps, by the text of their
	// key. It calls nobody, and does not end the transaction.
	Final func(ctx context.Context, tx pgx.Tx, remote map[string]string) (json.RawMessage, error)
}

// Answer is what a run ends with.
type Answer struct {
	Result json.RawMessage
	// Released says that this run has let the events go at every participant. Otherwise whoever
	// completed the operation does, or the reconciler: the answer is good all the same.
	Released bool
}

// Run does the work of an operation that was won: it compares the pinned digest, registers the
// generation at every participant, makes the steps that are not recorded, commits the final
// transaction, and releases. Meanwhile the lease is renewed; when it is lost, ctx of the running step
// ends and nothing more is called.
//
// After an error the lease is let go, so that the client can repeat its call at once. A panic of a
// step goes through; then the lease ends by itself.
//
// Errors:
//   - [ErrLeaseLost]: parked; claim again to learn what became of the operation.
//   - [ErrDigestMismatch], [ErrDigestKeyUnknown].
//   - [ErrSubjectGone]: it was consumed or reaped, and nothing completed the operation.
//   - [ErrGenerationClosed]: a participant has ended this generation, and the operation cannot take another.
//   - [ErrStepConflict], *outbox.InvalidArgumentError.
//   - what a participant, a step or Final returned, wrapped.
func (c *Coordinator) Run(ctx context.Context, won Won, work Work) (Answer, error) {
	answer, err := c.run(ctx, &won, work)
	if err == nil {
		return answer, nil
	}
	if !isLost(err) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
		defer cancel()
		if _, letGo := c.store.LetGo(limited, c.db, won.Claim); letGo != nil {
			err = errors.Join(err, letGo)
		}
	}
	return Answer{}, fmt.Errorf("run operation %s generation %d: %w", won.Operation, won.Generation, err)
}

func (c *Coordinator) run(ctx context.Context, won *Won, work Work) (Answer, error) {
	if err := checkSteps(work.Steps); err != nil {
		return Answer{}, err
	}
	if work.Final == nil || won.request.Subject == nil {
		return Answer{}, call.Invalid("work", "has no final transaction, or was not won", "Run what a claim returned as Won.")
	}
	all, err := c.participants(won.request.Kind, won.Participants)
	if err != nil {
		return Answer{}, err
	}
	beat := c.startHeartbeat(ctx, won.Claim)
	defer beat.stop()
	if err := c.prepare(beat.ctx, won, all); err != nil {
		return Answer{}, c.parked(beat.ctx, won, err)
	}
	remote, err := c.makeSteps(beat.ctx, won, work.Steps)
	if err != nil {
		return Answer{}, c.parked(beat.ctx, won, err)
	}
	if beat.ctx.Err() != nil {
		return Answer{}, context.Cause(beat.ctx)
	}
	// From here on the token decides, and not the heartbeat: the transaction is local and short.
	result, ours, err := c.finish(ctx, won, work, remote)
	if err != nil {
		return Answer{}, err
	}
	beat.stop()
	return Answer{Result: result, Released: ours && c.letOut(ctx, won, all)}, nil
}

// prepare compares the digest and registers.
func (c *Coordinator) prepare(ctx context.Context, won *Won, all []named) error {
	if err := c.store.checkPinned(ctx, c.db, won.Claim, won.request.Digest); err != nil {
		return err
	}
	if err := c.register(ctx, won, all); err != nil {
		return err
	}
	// Whoever lost the lease while it registered learns it here, and makes no step.
	return c.store.checkPinned(ctx, c.db, won.Claim, won.request.Digest)
}

// checkPinned compares what is pinned under the claim, before anybody is called.
func (s *Store) checkPinned(ctx context.Context, db DB, c Claim, d Digest) error {
	type pinned struct {
		KeyID        string
		Digest       []byte
		Participants []string
	}
	rows, err := query(ctx, s, db, "pinned.sql", pgx.RowToStructByPos[pinned], c.Operation, c.Generation, c.Holder)
	if err != nil {
		return fmt.Errorf("read what is pinned: %w", err)
	}
	if len(rows) == 0 {
		return ErrLeaseLost
	}
	same, err := d.Matches(rows[0].KeyID, rows[0].Digest)
	if err == nil && !same {
		err = ErrDigestMismatch
	}
	return err
}

// makeSteps makes the calls that are not recorded.
func (c *Coordinator) makeSteps(ctx context.Context, won *Won, steps []Step) (map[string]string, error) {
	remote, err := c.store.Progress(ctx, c.db, won.Claim)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		key := step.Key.String()
		if _, cached := remote[key]; cached {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		limited, cancel := context.WithTimeout(ctx, c.store.settings.ParticipantTimeout)
		id, err := step.Do(limited, Call{Hold: won.Hold(), Key: step.Key, Remote: remote})
		cancel()
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", key, err)
		}
		// Whoever lost the lease during the call learns it here, and makes no further one.
		if err := c.store.RecordStep(ctx, c.db, won.Claim, step.Key, step.Kind, id); err != nil {
			return nil, err
		}
		remote[key] = id
	}
	return remote, nil
}

// letOut releases at every participant. The operation is completed whatever comes of it.
func (c *Coordinator) letOut(ctx context.Context, won *Won, all []named) bool {
	ctx = context.WithoutCancel(ctx) // each call has its own limit
	err := c.release(ctx, all, won.Hold())
	if err == nil {
		_, err = c.store.MarkReleased(ctx, c.db, won.Claim)
	}
	if err != nil {
		countReleaseFailed(ctx)
		c.logger.WarnContext(ctx, "operation is completed and not released yet", "operation", won.Operation,
			"generation", won.Generation, "error", err)
		return false
	}
	return true
}

// parked is the error of work that was interrupted: the loss of the lease, if that was why. A holder that
// was stolen from may learn it from a participant first, where its successor has ended the generation.
func (c *Coordinator) parked(ctx context.Context, won *Won, err error) error {
	lost := context.Cause(ctx)
	if lost == nil && (Judge(err) == Refused || errors.Is(err, ErrGenerationClosed)) {
		lost = c.store.checkPinned(ctx, c.db, won.Claim, won.request.Digest)
	}
	if isLost(lost) && !isLost(err) {
		return fmt.Errorf("%w (%w)", lost, err)
	}
	return err
}
