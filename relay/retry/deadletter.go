package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/relay/internal/null"
)

// DeadLetter is an event that was given up, without its payload.
type DeadLetter struct {
	ID           int64
	Lane         int16
	Seq          int64
	EventID      string
	Source       string
	Type         string
	Subject      string // "" when the event has none
	ContentType  string // of the payload; "" when the event has none
	Key          string // "" for an event without order
	Operation    string // that held the event once; "" for none
	Generation   int32  // of the operation; 0 for none
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

// args are the first eight arguments of the statements that filter.
func (f Filter) args(group string) []any {
	return []any{group, f.IDs, f.EventIDs, null.Text(string(f.Reason)), null.Text(f.Type), null.Text(f.Key), null.Time(f.Since), null.Time(f.Before)}
}

// List returns the dead letters that a filter chooses, oldest first.
func (s *Store) List(ctx context.Context, f Filter) ([]DeadLetter, error) {
	limit := f.Limit
	if limit == 0 {
		limit = 1000
	}
	list, err := readDead(ctx, s, "list", append(f.args(s.group), limit), pgx.RowToStructByPos[DeadLetter])
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return list, nil
}

// Group is how many dead letters have something in common, and when the oldest and the newest
// of them died.
type Group struct {
	Reason         Code   // "" when not grouped by it
	Type           string // "" when not grouped by it
	Count          int64
	Oldest, Newest time.Time
}

// Groups counts what a filter chooses, whatever its limit, by reason, by type, by both, or all
// together: largest first, and none when nothing is chosen.
func (s *Store) Groups(ctx context.Context, f Filter, byReason, byType bool) ([]Group, error) {
	groups, err := readDead(ctx, s, "groups", append(f.args(s.group), byReason, byType), pgx.RowToStructByPos[Group])
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	return groups, nil
}

// notAllowed is the SQLSTATE of a missing right.
const notAllowed = "42501"

// readDead runs a statement over the dead letters: over the table as the relay's role may, and
// over the view as people's roles may.
func readDead[T any](ctx context.Context, s *Store, statement string, args []any, scan pgx.RowToFunc[T]) ([]T, error) {
	list, err := collect(ctx, s, s.sql[statement], args, scan)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == notAllowed {
		return collect(ctx, s, s.sql[statement+".info"], args, scan)
	}
	return list, err
}

func collect[T any](ctx context.Context, s *Store, sql string, args []any, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// Act is one line of the history of a dead letter.
type Act struct {
	At           time.Time
	DeadLetterID int64
	EventID      string
	Lane         int16
	Seq          int64
	Action       string // dead-lettered, requeued, discarded
	Actor        string
	Reason       string
	Attempts     int32
	Epoch        int32
}

// History returns what was done with the dead letters of an event, oldest first.
func (s *Store) History(ctx context.Context, lane int16, seq int64) ([]Act, error) {
	list, err := collect(ctx, s, s.sql["history"], []any{s.group, lane, seq}, pgx.RowToStructByPos[Act])
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return list, nil
}

// Trace returns the histories of the events that an id names, oldest first: the id of a dead
// letter, also of one that is gone (0 names none), or the id of an event ("" names none).
func (s *Store) Trace(ctx context.Context, deadLetter int64, event string) ([]Act, error) {
	list, err := collect(ctx, s, s.sql["trace"], []any{s.group, deadLetter, event}, pgx.RowToStructByPos[Act])
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
	done, err := collect(ctx, s, s.sql[statement], []any{s.group, ids, actor, reason}, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("%s dead letters: %w", statement, err)
	}
	return done, nil
}
