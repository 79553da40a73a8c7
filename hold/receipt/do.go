package receipt

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/internal/call"
	"github.com/holdfast-dev/holdfast/outbox"
)

// Sentinels of this package, for errors.Is.
var (
	// ErrReceiptConflict: the step was applied with another body digest or entity kind.
	ErrReceiptConflict = errors.New("step was applied with another body")
	// ErrReceiptIncomplete: the receipt has no stable id. Either the step is called
	// inside itself, or somebody changed the id with SQL.
	ErrReceiptIncomplete = errors.New("receipt has no stable id")
)

// Outcome is what became of a call. The zero value is a call that failed.
type Outcome string

// The outcomes.
const (
	Applied  Outcome = "applied"
	Replayed Outcome = "replayed"
	Refused  Outcome = "refused"
)

// Result is the answer of [Do].
type Result struct {
	Outcome Outcome
	// StableID is the identity of the entity, which survives its corrections; of an
	// Applied or a Replayed step.
	StableID string
	// State says why a step was Refused: "unknown", "cancelled", "released" or
	// "superseded", the State constants of package outbox.
	State string
}

// Config is where the receipts of a service are. The zero value is useful.
type Config struct {
	// Schema is the database schema in which the component hold is installed, a plain
	// lower-case identifier of at most 50 bytes. Defaults to "outbox".
	Schema string
}

// Store writes receipts in one database schema. It holds no connection and no state, and
// is safe for concurrent use.
type Store struct {
	begin, complete string // statements
}

var (
	//go:embed sql/begin.sql
	beginSQL string
	//go:embed sql/complete.sql
	completeSQL string
)

// New returns a Store. It fails when the schema cannot be the name of one; it does not
// look into a database.
func New(config Config) (*Store, error) {
	schema, err := call.Schema(config.Schema)
	if err != nil {
		return nil, fmt.Errorf("configure receipts: %w", err)
	}
	return newStore(schema), nil
}

func newStore(schema string) *Store {
	return &Store{begin: call.Statement(schema, beginSQL), complete: call.Statement(schema, completeSQL)}
}

// standard is the Store of the package functions. Never changed.
var standard = newStore("outbox")

// Do calls [Store.Do] in the default schema.
func Do(ctx context.Context, tx pgx.Tx, step Step, apply func(tx pgx.Tx) (stableID string, err error)) (Result, error) {
	return standard.Do(ctx, tx, step, apply)
}

// Do passes the gate and calls apply if the step was never applied before. apply writes
// the entity and stages all its events, held, in tx, and returns the entity's stable id,
// 1 to 255 bytes. The receipt becomes true when the caller commits.
//
// After any error the caller has to roll back. A commit after apply has failed fails too,
// with SQLSTATE HF015, since a receipt without an entity would shut out the step for ever.
//
// Errors:
//   - [*outbox.HoldRefusedError], together with the outcome Refused.
//   - [ErrReceiptConflict]: the same step was applied with another body. Calling again
//     cannot help.
//   - [*outbox.InvalidArgumentError]: nothing was sent, unless it is about the stable id.
//   - what apply returned, wrapped.
//   - one for which outbox.Retryable is true, at REPEATABLE READ and above.
func (s *Store) Do(ctx context.Context, tx pgx.Tx, step Step, apply func(tx pgx.Tx) (stableID string, err error)) (Result, error) {
	if tx == nil {
		return Result{}, fmt.Errorf("begin step %s: %w: got nil", step.Key, outbox.ErrNotTransaction)
	}
	if err := step.check(); err != nil {
		return Result{}, fmt.Errorf("begin step %s: %w", step.Key, err)
	}
	result, err := s.claim(ctx, tx, step)
	if err != nil {
		return failed(ctx, step, err), fmt.Errorf("begin step %s: %w", step.Key, err)
	}
	if result.Outcome != Applied {
		return result, nil
	}
	if result.StableID, err = apply(tx); err != nil {
		return failed(ctx, step, err), fmt.Errorf("apply step %s: %w", step.Key, err)
	}
	if err := s.fill(ctx, tx, step, result.StableID); err != nil {
		return Result{}, fmt.Errorf("complete step %s: %w", step.Key, err)
	}
	return result, nil
}

// failed is the result beside an error. apply may be refused too, when a later
// generation was registered between the receipt and its events.
func failed(ctx context.Context, step Step, err error) Result {
	var refused *outbox.HoldRefusedError
	if errors.As(err, &refused) && refused.Operation == step.Operation && refused.Generation == step.Generation {
		countRefused(ctx, refused.State)
		return Result{Outcome: Refused, State: refused.State}
	}
	return Result{}
}

// claim passes the gate and inserts the receipt, or reads the one that is there.
func (s *Store) claim(ctx context.Context, tx pgx.Tx, step Step) (Result, error) {
	var result Result
	err := tx.QueryRow(ctx, s.begin, step.Operation.String(), step.Generation, step.Key.String(), step.EntityKind, step.digest()).
		Scan(&result.Outcome, &result.StableID)
	if err != nil {
		return Result{}, explain(err, step)
	}
	return result, nil
}

// fill gives the receipt the id that apply returned.
func (s *Store) fill(ctx context.Context, tx pgx.Tx, step Step, stableID string) error {
	if err := call.CheckText("stable_id", stableID, 1, 255, "Return the identity of the entity that survives corrections."); err != nil {
		return err
	}
	var stored string
	err := tx.QueryRow(ctx, s.complete, step.Operation.String(), step.Generation, step.Key.String(), stableID).Scan(&stored)
	if err != nil {
		return explain(err, step)
	}
	return nil
}

func explain(err error, step Step) error {
	switch call.State(err) {
	case "HF014":
		return call.Because(ErrReceiptConflict, err)
	case "HF015":
		return call.Because(ErrReceiptIncomplete, err)
	}
	return call.Explain(err, step.Hold())
}
