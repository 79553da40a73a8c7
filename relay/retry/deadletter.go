package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// DeadLetter is an event that was given up, without its payload.
type DeadLetter struct {
	ID           int64
	Lane         int16
	Seq          int64
	EventID      string
	Source       string
	Type         string
	Key          string // "" for an event without order
	Reason       Code
	DetailSHA256 []byte // digest of what the broker said
	Attempts     int32
	Epoch        int32 // how often the event was requeued
	DeadAt       time.Time
	StagedAt     time.Time
	Bytes        int32 // of the payload
}

// Filter chooses dead letters. Zero fields choose all.
type Filter struct {
	IDs           []int64
	EventIDs      []string
	Reason        Code
	Type          string
	Key           string
	Since, Before time.Time // of dying
	// Limit bounds how many are chosen, oldest first. Defaults to 1,000.
	Limit int
}

// List returns the dead letters that a filter chooses, oldest first.
func (s *Store) List(ctx context.Context, f Filter) ([]DeadLetter, error) {
	limit := f.Limit
	if limit == 0 {
		limit = 1000
	}
	rows, err := s.pool.Query(ctx, s.sql["list"], s.group, f.IDs, f.EventIDs, null(string(f.Reason)), null(f.Type), null(f.Key),
		nullTime(f.Since), nullTime(f.Before), limit)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DeadLetter])
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return list, nil
}

// Act is one line of the history of a dead letter.
type Act struct {
	At           time.Time
	DeadLetterID int64
	Action       string // dead-lettered, requeued, discarded
	Actor        string
	Reason       string
	Attempts     int32
	Epoch        int32
}

// History returns what was done with the dead letters of an event, oldest first.
func (s *Store) History(ctx context.Context, lane int16, seq int64) ([]Act, error) {
	rows, err := s.pool.Query(ctx, s.sql["history"], s.group, lane, seq)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Act])
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return list, nil
}

// Requeue moves dead letters back to the waiting set, in one transaction, and returns the ids
// that it moved; those that are not there any more are left out. The actor (1 to 255
// bytes) and the reason (1 to 1024 bytes) are kept in the history.
func (s *Store) Requeue(ctx context.Context, ids []int64, actor, reason string) ([]int64, error) {
	return s.act(ctx, "requeue", ids, actor, reason)
}

// Discard removes dead letters for good, in one transaction, and returns the ids that it
// removed. With DeadLetterBlocksKey, the events that waited behind them become due.
func (s *Store) Discard(ctx context.Context, ids []int64, actor, reason string) ([]int64, error) {
	return s.act(ctx, "discard", ids, actor, reason)
}

func (s *Store) act(ctx context.Context, statement string, ids []int64, actor, reason string) ([]int64, error) {
	if len(actor) < 1 || len(actor) > 255 {
		return nil, invalid("actor", "must be 1 to 255 bytes")
	}
	if len(reason) < 1 || len(reason) > 1024 {
		return nil, invalid("reason", "must be 1 to 1024 bytes")
	}
	rows, err := s.pool.Query(ctx, s.sql[statement], s.group, ids, actor, reason)
	if err != nil {
		return nil, fmt.Errorf("%s dead letters: %w", statement, err)
	}
	done, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("%s dead letters: %w", statement, err)
	}
	return done, nil
}

func null(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
