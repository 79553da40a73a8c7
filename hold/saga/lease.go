package saga

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Renew gives the claim a whole lease from now on. Errors: [ErrLeaseLost], also for a lease that is
// over and that nobody took.
func (s *Store) Renew(ctx context.Context, db DB, c Claim) error {
	ours, err := s.changed(ctx, db, "renew.sql", c.Operation, c.Generation, c.Holder, s.settings.Lease)
	if err == nil && !ours {
		err = ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("renew operation %s: %w", c.Operation, err)
	}
	return nil
}

// LetGo ends the lease, so that a client that repeats its call need not wait for it. false says
// that it was over already, or somebody else's.
func (s *Store) LetGo(ctx context.Context, db DB, c Claim) (bool, error) {
	ours, err := s.changed(ctx, db, "let_go.sql", c.Operation, c.Generation, c.Holder)
	if err != nil {
		return false, fmt.Errorf("let go of operation %s: %w", c.Operation, err)
	}
	return ours, nil
}

// MarkCompleted makes the result the operation's, in the final transaction, and returns it as the
// database has it. A lease that is over and that nobody took may still complete.
//
// Errors: [ErrLeaseLost]: roll back.
func (s *Store) MarkCompleted(ctx context.Context, tx pgx.Tx, c Claim, result json.RawMessage) (json.RawMessage, error) {
	stored, err := query(ctx, s, tx, "complete.sql", pgx.RowTo[string], c.Operation, c.Generation, c.Holder, string(result), s.settings.Lease)
	if err == nil && len(stored) == 0 {
		err = ErrLeaseLost
	}
	if err != nil {
		return nil, fmt.Errorf("complete operation %s: %w", c.Operation, err)
	}
	return json.RawMessage(stored[0]), nil
}

// MarkReleased notes that every participant has confirmed the release. false says that it was noted
// before, or that the generation is not a completed one.
func (s *Store) MarkReleased(ctx context.Context, db DB, c Claim) (bool, error) {
	done, err := s.changed(ctx, db, "released.sql", c.Operation, c.Generation)
	if err != nil {
		return false, fmt.Errorf("mark operation %s released: %w", c.Operation, err)
	}
	return done, nil
}

// heartbeat renews a lease for as long as somebody works under it. It has its own goroutine, so
// that slow steps cannot hold it up. Its owner stops it, and waits.
type heartbeat struct {
	ctx  context.Context // of the work; ends with ErrLeaseLost as its cause when the lease is lost
	lose context.CancelCauseFunc
	quit context.CancelFunc
	done chan struct{} // closed by the goroutine
}

func (c *Coordinator) startHeartbeat(ctx context.Context, claim Claim) *heartbeat {
	h := &heartbeat{done: make(chan struct{})}
	h.ctx, h.lose = context.WithCancelCause(ctx)
	beating, quit := context.WithCancel(ctx)
	h.quit = quit
	go func() {
		defer close(h.done)
		c.beat(beating, h, claim)
	}()
	return h
}

// beat renews until it is told to stop. An error of the database is tried again at the next beat;
// when none came through for a whole lease, the lease is taken for lost.
func (c *Coordinator) beat(ctx context.Context, h *heartbeat, claim Claim) {
	settings := c.store.settings
	ticker := time.NewTicker(settings.Heartbeat)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		begun := time.Now()
		limited, cancel := context.WithTimeout(ctx, max(settings.Heartbeat, settings.Lease/3))
		err := c.store.Renew(limited, c.options.LeasePool, claim)
		cancel()
		switch {
		case err == nil:
			renewed = begun
		case ctx.Err() != nil:
			return
		case isLost(err) || time.Since(renewed) >= settings.Lease:
			countLost(ctx)
			h.lose(fmt.Errorf("renew operation %s: %w", claim.Operation, ErrLeaseLost))
			return
		default:
			c.logger.WarnContext(ctx, "lease of an operation was not renewed", "operation", claim.Operation, "error", err)
		}
	}
}

// stop ends the goroutine and waits for it.
func (h *heartbeat) stop() {
	h.quit()
	<-h.done
	h.lose(nil)
}
