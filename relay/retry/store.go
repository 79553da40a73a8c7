package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/outbox"
)

// Store is the retries and dead letters of one relay group. Safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	sql    map[string]string
	group  string
	policy Policy
	// blocks: while a key has a dead letter, its later events wait.
	blocks bool
}

// Config are the settings of a store. The zero value of a field means its default.
type Config struct {
	// Schema is the database schema. Defaults to "outbox".
	Schema string
	// Group is the relay group. Defaults to "default".
	Group string
	// Policy says how often and when to try again. The zero Policy means DefaultPolicy.
	Policy Policy
	// DeadLetterBlocksKey keeps the later events of a key waiting while the key has a dead
	// letter. By default the key goes on.
	DeadLetterBlocksKey bool
}

// New returns a store over a pool, which stays the caller's. It returns an [*InvalidError]
// for a policy that is out of bounds.
func New(pool *pgxpool.Pool, cfg Config) (*Store, error) {
	if cfg.Schema == "" {
		cfg.Schema = "outbox"
	}
	if cfg.Group == "" {
		cfg.Group = "default"
	}
	if cfg.Policy == (Policy{}) {
		cfg.Policy = DefaultPolicy()
	}
	if err := cfg.Policy.Validate(); err != nil {
		return nil, err
	}
	return &Store{pool: pool, sql: statements(cfg.Schema), group: cfg.Group, policy: cfg.Policy, blocks: cfg.DeadLetterBlocksKey}, nil
}

// Policy returns the policy of the store.
func (s *Store) Policy() Policy { return s.policy }

// Claim is a row that a worker owns until LeaseUntil, by the clock of the database.
type Claim struct {
	ID         int64
	Lane       int16
	Seq        int64
	EventID    string
	Key        string // "" for an event without order
	Attempts   int32  // failed ones so far
	Epoch      int32  // how often the event was requeued
	RowVersion int64
	Owner      string
	Token      uuid.UUID
	LeaseUntil time.Time
}

var codes = []string{string(MessageTooLarge), string(HeaderTooLarge), string(Malformed), string(Rejected)}

// ClaimDue claims up to limit due rows for a worker (1 to 128 bytes), each for the length of a
// lease (1 ms to 1 h), in the order (next_visible_at, id). Arguments out of bounds are an
// [*InvalidError], and nothing is changed.
func (s *Store) ClaimDue(ctx context.Context, worker string, lease time.Duration, limit int) ([]Claim, error) {
	switch {
	case len(worker) < 1 || len(worker) > 128:
		return nil, invalid("worker", "must be 1 to 128 bytes")
	case lease < time.Millisecond || lease > time.Hour:
		return nil, invalid("lease", "%s: must be 1ms to 1h", lease)
	case limit < 1 || limit > 10_000:
		return nil, invalid("limit", "%d: must be 1 to 10000", limit)
	}
	rows, err := s.pool.Query(ctx, s.sql["claim_due"], s.group, worker, lease, limit, s.blocks)
	if err != nil {
		return nil, fmt.Errorf("claim retries: %w", err)
	}
	claims, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Claim])
	if err != nil {
		return nil, fmt.Errorf("claim retries: %w", err)
	}
	return claims, nil
}

// Event reads the event of a claim. [ErrNotFound] means that neither the log nor a requeue
// has it, which retention makes impossible.
func (s *Store) Event(ctx context.Context, c Claim) (outbox.Record, error) {
	var r outbox.Record
	var at *time.Time
	err := s.pool.QueryRow(ctx, s.sql["event"], s.group, c.Lane, c.Seq).Scan(&r.ID, &r.Source, &r.Type, &r.Subject, &at,
		&r.DataContentType, &r.DataSchema, &r.PartitionKey, &r.Extensions, &r.Data)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fmt.Errorf("event %s at lane %d seq %d: %w", c.EventID, c.Lane, c.Seq, ErrNotFound)
	}
	if err != nil {
		return r, fmt.Errorf("read event %s: %w", c.EventID, err)
	}
	if at != nil {
		r.Time = at.UTC()
	}
	return r, nil
}

// LetGo gives a claim back without an outcome, to be claimed again after a pause: the broker
// was not there, and nothing is counted. A claim that does not hold is let go already.
func (s *Store) LetGo(ctx context.Context, c Claim, pause time.Duration) error {
	if _, err := s.pool.Exec(ctx, s.sql["let_go"], append(c.tuple(), pause)...); err != nil {
		return fmt.Errorf("let go of event %s: %w", c.EventID, err)
	}
	return nil
}

// PromoteLost makes parked events due whose head left unseen while they were parked. The
// relay calls it every few seconds while rows wait.
func (s *Store) PromoteLost(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, s.sql["promote_lost"], s.group)
	if err != nil {
		return 0, fmt.Errorf("promote parked events: %w", err)
	}
	return tag.RowsAffected(), nil
}

// tuple is what proves a claim, as the first six arguments of the statements that write.
func (c Claim) tuple() []any {
	return []any{c.ID, c.Attempts, c.RowVersion, c.Owner, c.Token, c.LeaseUntil}
}

// Unsound is a row that cannot be claimed because something is wrong with it.
type Unsound struct {
	ID      int64
	Lane    int16
	Seq     int64
	EventID string
	Problem string
}

// Unsound lists up to limit rows that no claim takes. They stop no other row.
func (s *Store) Unsound(ctx context.Context, limit int) ([]Unsound, error) {
	rows, err := s.pool.Query(ctx, s.sql["unsound"], s.group, limit)
	if err != nil {
		return nil, fmt.Errorf("list unsound retries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Unsound])
	if err != nil {
		return nil, fmt.Errorf("list unsound retries: %w", err)
	}
	return list, nil
}
