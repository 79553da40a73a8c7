package saga

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/outbox"
)

// StepKey names a step within its operation: the participant's receipt has the same key. Its
// grammar is that of package receipt.
type StepKey = receipt.StepKey

// Call is the identity that a step's call travels with, and what earlier steps have answered.
type Call struct {
	Hold outbox.Hold
	Key  StepKey
	// Remote has the remote ids of the steps that are done, by the text of their key.
	Remote map[string]string
}

// Step is one call of a participant.
type Step struct {
	// Key is unique in the operation.
	Key StepKey
	// Kind is what the step makes there, such as "person": 1 to 100 bytes.
	Kind string
	// Do makes the call and returns the id of what it made, 1 to 255 bytes. It must send the same
	// bytes whenever it is called, in any process, so it takes what varies from the basis. It
	// must end when ctx does, and it is called again after an error or a crash. No lock, transaction or
	// connection is held meanwhile.
	Do func(ctx context.Context, c Call) (remoteID string, err error)
}

func checkSteps(steps []Step) error {
	keys := map[StepKey]bool{}
	for _, step := range steps {
		if step.Key.IsZero() || step.Do == nil {
			return call.Invalid("step", "has no key or no call", "Name each step and say what it does.")
		}
		if keys[step.Key] {
			return call.Invalid("step", "has the key of another one: "+step.Key.String(), "Use an index for steps that come in lists, such as member:3.")
		}
		keys[step.Key] = true
		if err := call.CheckText("step_kind", step.Kind, 1, maxKind, "Name what the step creates, such as person."); err != nil {
			return err
		}
	}
	return nil
}

// RecordedStep is a step in the cache.
type RecordedStep struct {
	Generation     int
	Key            string
	Kind, RemoteID string
	RecordedAt     time.Time
}

// RecordStep notes what a step's call has answered, if the claim is still the holder's.
//
// Errors: [ErrLeaseLost]: make no further call. [ErrStepConflict]: the step is there with another
// remote id, so a receipt is not what it was.
func (s *Store) RecordStep(ctx context.Context, db DB, c Claim, key StepKey, kind, remoteID string) error {
	if err := call.CheckText("remote_id", remoteID, 1, 255, "Return the identity that the participant gave."); err != nil {
		return fmt.Errorf("record step %s: %w", key, err)
	}
	type recorded struct {
		Ours     bool
		RemoteID string
	}
	rows, err := query(ctx, s, db, "record_step.sql", pgx.RowToStructByPos[recorded],
		c.Operation, c.Generation, c.Holder, key.String(), kind, remoteID)
	switch {
	case err != nil:
	case !rows[0].Ours:
		err = ErrLeaseLost
	case rows[0].RemoteID != remoteID:
		err = ErrStepConflict
	}
	if err != nil {
		return fmt.Errorf("record step %s: %w", key, err)
	}
	return nil
}

// Progress returns the remote ids of the steps that are recorded, by the text of their key.
func (s *Store) Progress(ctx context.Context, db DB, c Claim) (map[string]string, error) {
	type cached struct {
		Key, Kind, RemoteID string
		At                  time.Time
	}
	steps, err := query(ctx, s, db, "steps.sql", pgx.RowToStructByPos[cached], c.Operation, c.Generation)
	if err != nil {
		return nil, fmt.Errorf("read steps of operation %s: %w", c.Operation, err)
	}
	remote := map[string]string{}
	for _, step := range steps {
		remote[step.Key] = step.RemoteID
	}
	return remote, nil
}
