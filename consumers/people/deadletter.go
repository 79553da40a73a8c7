package people

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The states of a dead letter.
const (
	Dead            = "dead"
	ReplayRequested = "replay_requested"
	Replaying       = "replaying"
	Resolved        = "resolved"
	Discarded       = "discarded"
)

// States returns all of them, those that wait for a person first.
func States() []string { return []string{Dead, ReplayRequested, Replaying, Resolved, Discarded} }

// ReasonCodes returns why a message can be given up.
func ReasonCodes() []string {
	return []string{"not_an_event", "malformed", "permanent", "exhausted", "panicked"}
}

// DeadLetter is a message that was given up. Ids, types and a digest: the message is in the stream.
type DeadLetter struct {
	ID, StreamSeq        int64
	Consumer, Stream     string
	EventSource, EventID string // empty for a message that is no event
	EventType            string
	Reason, DetailSHA256 string
	Attempts             int
	State                string
	DeadAt, ChangedAt    time.Time
	ClaimUntil           *time.Time // of one that is replayed
}

// Filter chooses dead letters. The zero value of a field chooses all.
type Filter struct {
	IDs           []int64
	EventIDs      []string
	Consumer      string
	States        []string
	Reason, Type  string
	Since, Before time.Time // of their death
	Limit         int       // defaults to 1,000; the oldest first
}

func (f Filter) args() []any {
	return []any{f.IDs, f.EventIDs, f.Consumer, f.States, f.Reason, f.Type, orNull(f.Since), orNull(f.Before)}
}

// DeadLetters returns those that are chosen, the oldest first.
func (s *Store) DeadLetters(ctx context.Context, f Filter) ([]DeadLetter, error) {
	if f.Limit == 0 {
		f.Limit = 1000
	}
	rows, err := s.db.Query(ctx, s.sql["dead_letters"], append(f.args(), f.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DeadLetter])
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return list, nil
}

// Group counts dead letters that are alike.
type Group struct {
	Consumer, Reason, Type, State string
	Count                         int64
	Oldest, Newest                time.Time
}

// Groups counts those that are chosen, whatever the limit.
func (s *Store) Groups(ctx context.Context, f Filter) ([]Group, error) {
	rows, err := s.db.Query(ctx, s.sql["groups"], f.args()...)
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Group])
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	return groups, nil
}

// Act is a line of history.
type Act struct {
	At       time.Time
	State    string
	Actor    string
	Reason   string
	Attempts int
}

// History returns what happened to a dead letter, the oldest first, also when it is gone.
func (s *Store) History(ctx context.Context, id int64) ([]Act, error) {
	rows, err := s.db.Query(ctx, s.sql["history"], id)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	acts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Act])
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return acts, nil
}

// RequestReplay asks the consumers to handle dead letters once more, and returns the ids of those that were
// dead: what is requested, replayed or decided already is left as it is. Errors: [*InvalidError], and
// those of the database, after which nothing was changed.
func (s *Store) RequestReplay(ctx context.Context, ids []int64, actor, reason string) ([]int64, error) {
	return s.move(ctx, ids, []string{Dead}, ReplayRequested, actor, reason)
}

// Discard ends dead letters for good, and takes a request back that no instance has claimed. It returns
// the ids of those that were moved. Errors: as [Store.RequestReplay].
func (s *Store) Discard(ctx context.Context, ids []int64, actor, reason string) ([]int64, error) {
	return s.move(ctx, ids, []string{Dead, ReplayRequested}, Discarded, actor, reason)
}

func (s *Store) move(ctx context.Context, ids []int64, from []string, to, actor, reason string) ([]int64, error) {
	if err := said(actor, reason); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, s.sql["move"], ids, from, to, actor, reason)
	if err != nil {
		return nil, fmt.Errorf("move dead letters to %s: %w", to, err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("move dead letters to %s: %w", to, err)
	}
	return moved, nil
}
