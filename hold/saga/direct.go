package saga

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/outbox"
)

// ErrUndoPending: a cancelled generation has steps that are not undone yet.
var ErrUndoPending = errors.New("steps are left to undo")

// Direct is a participant whose database the coordinator reaches itself. Safe for concurrent use.
type Direct struct {
	db    *pgxpool.Pool
	store *hold.Store
	by    string
	undo  hold.Compensator
}

// NewDirect returns the participant. by is who calls, 1 to 255 bytes, for its audit. undo undoes
// its entities; nil leaves them, for a service that undoes them itself (package keeper).
func NewDirect(db *pgxpool.Pool, store *hold.Store, by string, undo hold.Compensator) *Direct {
	return &Direct{db: db, store: store, by: by, undo: undo}
}

// Register calls hold.Register.
func (d *Direct) Register(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	return d.store.Register(ctx, d.db, h, d.by)
}

// Release calls hold.Release.
func (d *Direct) Release(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	return d.store.Release(ctx, d.db, h, d.by)
}

// Cancel calls hold.Cancel, and then hold.Compensate. Errors: [ErrUndoPending], those of both calls.
func (d *Direct) Cancel(ctx context.Context, h outbox.Hold) (hold.Answer, error) {
	answer, err := d.store.Cancel(ctx, d.db, h, d.by)
	if err != nil || d.undo == nil {
		return answer, err
	}
	done, err := d.store.Compensate(ctx, d.db, h, d.by, d.undo)
	if err != nil {
		return answer, err
	}
	if done.Pending > 0 {
		return answer, fmt.Errorf("cancel generation: %w: %d", ErrUndoPending, done.Pending)
	}
	return answer, nil
}
