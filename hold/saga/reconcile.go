package saga

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// leader is the token under which this process ticks, and what it has told.
type leader struct {
	token uuid.UUID
	stuck *atomic.Int64 // operations, as they were told last
	late  *atomic.Bool  // whether a late release was told
}

func newLeader() (leader, error) {
	token, err := uuid.NewV7()
	return leader{token: token, stuck: new(atomic.Int64), late: new(atomic.Bool)}, err
}

// leadFor is how many periods the lease of a reconciler lasts.
const leadFor = 3

// Reconcile makes a tick at once and then one every period, until ctx ends, and returns nil. What
// goes wrong is logged and tried again. Run it in every replica.
func (c *Coordinator) Reconcile(ctx context.Context) error {
	ticker := time.NewTicker(c.store.settings.Period)
	defer ticker.Stop()
	for {
		if _, err := c.Tick(ctx); err != nil && ctx.Err() == nil {
			c.logger.WarnContext(ctx, "operations are not all looked after", "error", err, "hint", outbox.Hint(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Report is what a tick did. The counts are of operations.
type Report struct {
	// Led says that this process had the lease; otherwise it only measured.
	Led                      bool
	Aborted, Released        int
	PutOff, Stuck, LeaseLost int
	Pruned                   int64
	Waiting                  Measurement // after all that; zero if it could not be read
}

// Tick looks after what is due now, once, if no other replica does. An error does not keep it from
// the rest; the report is never nil.
func (c *Coordinator) Tick(ctx context.Context) (*Report, error) {
	r := &Report{}
	led, err := c.store.changed(ctx, c.db, "lead.sql", c.leader.token, leadFor*c.store.settings.Period)
	if err != nil {
		return r, fmt.Errorf("lead: %w", err)
	}
	r.Led = led
	parts := []func(context.Context, *Report) error{c.measure}
	if led {
		parts = []func(context.Context, *Report) error{c.compensateDue, c.releaseDue, c.prune, c.ticked, c.measure}
	}
	var errs []error
	for _, part := range parts {
		if err := part(ctx, r); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r, errors.Join(errs...)
}

func (c *Coordinator) ticked(ctx context.Context, _ *Report) error {
	_, err := c.store.changed(ctx, c.db, "ticked.sql")
	return err
}

// Due names a generation that something is to be done for.
type Due struct {
	Operation  uuid.UUID
	Generation int
}

// turn is an operation that the reconciler may act on.
type turn struct {
	Kind         string
	Participants []string
	Attempts     int
}

// Compensation is the right to compensate an operation.
type Compensation struct {
	Claim
	Kind         string
	Participants []string
	Attempts     int // that failed
}

// ListStuck names operations of these kinds that look as if they had to be compensated, those that
// waited longest first. It locks nothing: [Store.ClaimForCompensation] judges.
func (s *Store) ListStuck(ctx context.Context, db DB, kinds []string, most int) ([]Due, error) {
	due, err := query(ctx, s, db, "due_compensation.sql", pgx.RowToStructByPos[Due], kinds, s.settings.Grace, most)
	if err != nil {
		return nil, fmt.Errorf("list operations to compensate: %w", err)
	}
	return due, nil
}

// ClaimForCompensation takes a generation whose lease has been over for longer than the grace, or
// whose compensation nobody goes on with, from its holder. false says that it is not so any more, or
// that somebody has its row. by is who does it, for the audit.
func (s *Store) ClaimForCompensation(ctx context.Context, db DB, d Due, by string) (Compensation, bool, error) {
	holder, err := uuid.NewV7()
	if err != nil {
		return Compensation{}, false, err
	}
	turns, err := query(ctx, s, db, "claim_compensation.sql", pgx.RowToStructByPos[turn],
		d.Operation, d.Generation, holder, s.settings.ParticipantTimeout+s.settings.Margin, s.settings.Grace, by)
	if err != nil || len(turns) == 0 {
		return Compensation{}, false, err
	}
	t := turns[0]
	return Compensation{Claim{d.Operation, d.Generation, holder}, t.Kind, t.Participants, t.Attempts}, true, nil
}

// MarkAborted ends the generation, when every participant has confirmed its cancel. Errors:
// [ErrLeaseLost].
func (s *Store) MarkAborted(ctx context.Context, db DB, c Claim, by string) error {
	ours, err := query(ctx, s, db, "abort.sql", pgx.RowTo[bool], c.Operation, c.Generation, c.Holder, by)
	if err == nil && !ours[0] {
		err = ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("abort operation %s: %w", c.Operation, err)
	}
	return nil
}

// putOff counts a failed compensation and returns the state that follows. Errors: [ErrLeaseLost].
func (s *Store) putOff(ctx context.Context, db DB, t Compensation, final bool, by string) (State, error) {
	states, err := query(ctx, s, db, "put_off.sql", pgx.RowTo[string], t.Operation, t.Generation, t.Holder,
		s.settings.pause(t.Attempts), final, s.settings.Attempts, by)
	if err == nil && states[0] == "" {
		err = ErrLeaseLost
	}
	if err != nil {
		return "", fmt.Errorf("put off operation %s: %w", t.Operation, err)
	}
	return State(states[0]), nil
}
