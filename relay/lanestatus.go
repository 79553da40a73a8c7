package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// LaneRetries are the events of a lane that wait for a retry.
type LaneRetries struct {
	Lane int16
	// Scheduled were refused and will be tried again, Parked wait behind one of them. Counting stops at
	// 100,000 of both.
	Scheduled, Parked int64
	Due               *time.Time // of the first; nil when none is due at any time
}

// ReadLaneRetries reads what waits for a retry in the lanes of a group. It only reads.
func ReadLaneRetries(ctx context.Context, pool *pgxpool.Pool, schema, group string) ([]LaneRetries, error) {
	rows, err := pool.Query(ctx, newStatements(schema).laneRetries, group, countLimit)
	if err != nil {
		return nil, fmt.Errorf("read retries of lanes: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LaneRetries])
	if err != nil {
		return nil, fmt.Errorf("read retries of lanes: %w", err)
	}
	return list, nil
}

// LaneBatch is a settled batch.
type LaneBatch struct {
	SettledAt      time.Time
	Events         int32
	SeqFirst       int64
	SeqLast        int64
	Stream         string
	StreamSeqFirst int64
	StreamSeqLast  int64
}

// batchesLooked is how many of the newest batches of all lanes are looked at.
const batchesLooked = 100_000

// ReadLaneBatches reads the last settled batches of a lane, newest first, as far as they are among
// the last 100,000 of all lanes. It only reads.
func ReadLaneBatches(ctx context.Context, pool *pgxpool.Pool, schema, group string, lane int16, limit int) ([]LaneBatch, error) {
	rows, err := pool.Query(ctx, newStatements(schema).laneBatches, group, lane, limit, batchesLooked)
	if err != nil {
		return nil, fmt.Errorf("read batches of lane %d: %w", lane, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LaneBatch])
	if err != nil {
		return nil, fmt.Errorf("read batches of lane %d: %w", lane, err)
	}
	return list, nil
}

// laneLockWait bounds the wait for the row of a lane, which a settle has for a moment.
const laneLockWait = 5 * time.Second

// EndLease ends the lease of an owner on a lane now instead of at its time. From then on no settle
// and no renewal of that claim is accepted, so the owner drops the lane, and any relay that has
// room claims it, the same one too. What was in flight is published again with the same ids,
// unless the next owner finds it in the stream, as after any lease that ended. It returns false, and
// nothing is changed, when the lane is not that owner's any more. A row that another
// transaction keeps for more than five seconds is an error with SQLSTATE 55P03. The caller needs the
// rights of a relay.
func EndLease(ctx context.Context, pool *pgxpool.Pool, schema, group string, lane int16, owner string) (bool, error) {
	d := &database{pool: pool, sql: newStatements(schema)}
	var token string
	err := pool.QueryRow(ctx, d.sql.laneClaim, group, lane, owner).Scan(&token)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("end the lease of lane %d: %w", lane, err)
	}
	ended := false
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", laneLockWait.Milliseconds())); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, d.sql.abandon, group, []int16{lane}, []string{token})
		ended = tag.RowsAffected() > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end the lease of lane %d: %w", lane, d.checked(err))
	}
	return ended, nil
}
