package facts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/consumers/internal/lazytx"
)

//go:embed sql/claim.sql
var claimSQL string

//go:embed sql/incumbent.sql
var incumbentSQL string

// ErrVanished is returned by [Claim] when the fact that won is not there: somebody deletes
// facts, or the transaction is stricter than READ COMMITTED. Roll back and try again.
var ErrVanished = errors.New("claim fact: the fact that is known cannot be read")

// ErrNotYours is returned by [Tx.Commit] and [Tx.Rollback].
var ErrNotYours = errors.New("end the transaction: whoever began it ends it; return an error to have it rolled back")

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// Told is the event that tells a fact.
type Told struct{ Source, ID string }

// Tx is a transaction in which facts are claimed. It remembers the claims, so that they can
// be proven once it is committed. Not safe for concurrent use, as the transaction is not.
type Tx struct {
	pgx.Tx
	schema string
	told   Told
	claims []Claimed
	none   bool
}

// In returns tx as a transaction in which facts can be claimed, for writers other than the
// consumer runtime too: replays, repairs and jobs claim the same facts. schema is the database
// schema of the component consumer, "outbox" when it is empty.
func In(tx pgx.Tx, schema string, told Told) (*Tx, error) {
	if schema == "" {
		schema = "outbox"
	}
	if !schemaName.MatchString(schema) {
		return nil, fmt.Errorf("claim facts: schema %q is not a plain lower-case identifier", schema)
	}
	return &Tx{Tx: tx, schema: schema, told: told}, nil
}

// Claims returns what was claimed so far, in order.
func (t *Tx) Claims() []Claimed { return slices.Clone(t.claims) }

// Factless reports whether [None] was called.
func (t *Tx) Factless() bool { return t.none }

// Commit refuses: a handler does not end its transaction.
func (t *Tx) Commit(context.Context) error { return ErrNotYours }

// Rollback refuses: a handler returns an error to have its transaction rolled back.
func (t *Tx) Rollback(context.Context) error { return ErrNotYours }

// None says that the event tells no fact, on purpose: the consumer ignores it, or writes a state
// that comes out the same however often it is written.
func None(tx *Tx) { tx.none = true }

// Claim makes the fact known, or finds that it is known. Call it before any other statement of
// the transaction. It waits for a concurrent claim of the same fact. Errors: [*FactError],
// [ErrVanished], and those of the database.
func Claim(ctx context.Context, tx *Tx, fact Fact) (Claimed, error) {
	if err := fact.validate(tx.told); err != nil {
		return Claimed{}, err
	}
	fact.Attributes = maps.Clone(fact.Attributes)
	if fact.Attributes == nil {
		fact.Attributes = map[string]string{}
	}
	claimed := Claimed{Fact: fact, Outcome: Applied}
	identity := []string{fact.Source, fact.Account, fact.Type, fact.Key.text}
	err := tx.row(ctx, claimSQL, append(identity, fact.attributesText(), tx.told.Source, tx.told.ID)...).Scan(&claimed.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		// The winner has committed. Only a later statement is sure to see its row.
		var known map[string]string
		err = tx.row(ctx, incumbentSQL, identity...).Scan(&claimed.ID, &known)
		if errors.Is(err, pgx.ErrNoRows) {
			return Claimed{}, ErrVanished
		}
		claimed.Outcome = Replayed
		if difference := compare(known, fact.Attributes); len(difference) > 0 {
			claimed.Outcome, claimed.Difference = Mismatch, difference
		}
	}
	if err != nil {
		return Claimed{}, fmt.Errorf("claim fact: %w", err)
	}
	tx.claims = append(tx.claims, claimed)
	return claimed, nil
}

// row asks for one row. A transaction of the runtime that has sent nothing yet begins with it.
func (t *Tx) row(ctx context.Context, sql string, args ...string) pgx.Row {
	return lazytx.First(ctx, t.Tx, t.in(sql), args...)
}

// filled are statements by their text and schema, which are few.
var filled sync.Map

// in returns a statement for the schema.
func (t *Tx) in(sql string) string {
	key := [2]string{sql, t.schema}
	if text, known := filled.Load(key); known {
		return text.(string)
	}
	text := strings.ReplaceAll(sql, "{{schema}}", t.schema)
	filled.Store(key, text)
	return text
}
