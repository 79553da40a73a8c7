package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Status is what the database knows of a relay group.
type Status struct {
	Group  string
	At     time.Time // when it was read, by the clock of the database, as are all ages
	Lanes  []LaneStatus
	Relays []RelayStatus
	// Held are the events without a position, in all lanes.
	Held        int64
	OldestHeld  time.Duration
	Backlog     int64         // committed, not held and not settled
	OldestEvent time.Duration // since the oldest of the backlog was staged; 0 when there is none
	// Capped says that counting stopped at its limit somewhere: the numbers are lower bounds.
	Capped bool
}

// LaneStatus is one lane.
type LaneStatus struct {
	Lane      int16
	Owner     string // "" when nobody owns it
	Live      bool   // the owner's lease is valid
	Paging    bool   // a backlog is being paged
	Backlog   int64
	Oldest    time.Duration
	StreamSeq int64
	// LeaseUntil is when the lease ends or ended; zero when nobody owns the lane.
	LeaseUntil time.Time
	// Drained, Target and Pos are the cursor: every event that is visible in the snapshot Drained is
	// settled, and while a backlog is paged those that are visible in Target up to Pos.
	Drained, Target string
	Pos             int64
}

// RelayStatus is one live pod.
type RelayStatus struct {
	Owner     string
	Version   string
	StartedAt time.Time
}

// countLimit bounds how many events are counted per lane, so that looking at a large
// backlog costs the database little.
const countLimit = 100_000

// ReadStatus reads the status of a group. It only reads, and its cost does not grow with
// what is retained.
func ReadStatus(ctx context.Context, pool *pgxpool.Pool, schema, group string) (*Status, error) {
	d := &database{pool: pool, sql: newStatements(schema)}
	s := &Status{Group: group}
	_, err := d.with(ctx, d.sql.session, d.sql.statusLanes, []any{group, countLimit}, func(rows pgx.Rows) error {
		l, err := scanLane(rows)
		if err != nil {
			return err
		}
		s.Lanes = append(s.Lanes, l)
		s.Backlog += l.Backlog
		s.OldestEvent = max(s.OldestEvent, l.Oldest)
		s.Capped = s.Capped || l.Backlog >= countLimit
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read status of lanes: %w", err)
	}
	_, err = d.with(ctx, d.sql.session, d.sql.statusHeld, []any{10 * countLimit}, func(rows pgx.Rows) error {
		var oldest float64
		if err := rows.Scan(&s.Held, &oldest, &s.At); err != nil {
			return err
		}
		s.OldestHeld = seconds(oldest)
		s.Capped = s.Capped || s.Held >= 10*countLimit
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read status of held events: %w", err)
	}
	rows, err := pool.Query(ctx, d.sql.statusRelays, group)
	if err != nil {
		return nil, fmt.Errorf("read status of relays: %w", err)
	}
	s.Relays, err = pgx.CollectRows(rows, pgx.RowToStructByPos[RelayStatus])
	if err != nil {
		return nil, fmt.Errorf("read status of relays: %w", err)
	}
	return s, nil
}

func scanLane(rows pgx.Rows) (LaneStatus, error) {
	var l LaneStatus
	var oldest float64
	var until *time.Time
	err := rows.Scan(&l.Lane, &l.Owner, &l.Live, &l.Paging, &l.Backlog, &oldest, &l.StreamSeq, &until, &l.Drained, &l.Target, &l.Pos)
	l.Oldest = seconds(oldest)
	if until != nil {
		l.LeaseUntil = *until
	}
	return l, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
