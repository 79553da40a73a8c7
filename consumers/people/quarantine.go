package people

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Quarantined is an event that tells a known fact in another way. The difference names attributes and has
// digests of their values.
type Quarantined struct {
	ID, FactID             int64
	Consumer               string
	EventSource, EventID   string
	EventType              string
	Source, Account        string // of the fact
	FactType, FactKey      string
	Reason, State          string
	CreatedAt, SeenAt      time.Time
	ResolvedAt             *time.Time
	ResolvedBy, Resolution string
	Difference             map[string]Digests
}

// Digests are the SHA-256 of an attribute, in hex; empty where it is absent.
type Digests struct {
	Known string `json:"known"`
	Told  string `json:"told"`
}

// QuarantineFilter chooses events in quarantine. The zero value of a field chooses all.
type QuarantineFilter struct {
	IDs            []int64
	Consumer, Type string
	Open           bool // only those that nobody has resolved
	Since, Before  time.Time
	Limit          int // defaults to 1,000; the oldest first
}

func (f QuarantineFilter) args() []any {
	return []any{f.IDs, f.Consumer, f.Type, f.Open, orNull(f.Since), orNull(f.Before)}
}

// Quarantine returns those that are chosen, the oldest first.
func (s *Store) Quarantine(ctx context.Context, f QuarantineFilter) ([]Quarantined, error) {
	if f.Limit == 0 {
		f.Limit = 1000
	}
	rows, err := s.db.Query(ctx, s.sql["quarantine"], append(f.args(), f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list quarantine: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Quarantined])
	if err != nil {
		return nil, fmt.Errorf("list quarantine: %w", err)
	}
	return list, nil
}

// CountQuarantine counts those that are chosen, whatever the limit.
func (s *Store) CountQuarantine(ctx context.Context, f QuarantineFilter) (n int64, err error) {
	if err := s.db.QueryRow(ctx, s.sql["quarantine_count"], f.args()...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count quarantine: %w", err)
	}
	return n, nil
}

// Resolve says that somebody has decided about events in quarantine, and returns the ids of those that
// were open. It changes no fact and no effect. Errors: [*InvalidError], and those of the database, after
// which nothing was changed.
func (s *Store) Resolve(ctx context.Context, ids []int64, actor, resolution string) ([]int64, error) {
	if err := said(actor, resolution); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, s.sql["resolve"], ids, actor, resolution)
	if err != nil {
		return nil, fmt.Errorf("resolve quarantine: %w", err)
	}
	resolved, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("resolve quarantine: %w", err)
	}
	return resolved, nil
}
