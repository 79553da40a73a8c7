package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Reap deletes drafts that have expired, at most a hundred, and returns how many. It waits for nobody,
// and leaves those whose operation has not ended.
func (s *Service) Reap(ctx context.Context) (int64, error) {
	var reaped int64
	err := pgx.BeginTxFunc(ctx, s.db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, expiredDraftsSQL)
		if err != nil {
			return err
		}
		expired, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, s.reap, expired)
		reaped = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reap drafts: %w", err)
	}
	return reaped, nil
}

func (s *Service) reapEvery(ctx context.Context, period time.Duration) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if _, err := s.Reap(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "drafts are not reaped", "error", err, "hint", outbox.Hint(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
