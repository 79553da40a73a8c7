package sweep

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// Entity is a part of a candidate, named as receipts name it.
type Entity struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Candidate is an orphan, with all entities that go when it is undone.
type Candidate struct {
	ID       string    `json:"id"`
	MadeAt   time.Time `json:"made_at"`
	Entities []Entity  `json:"entities"` // in the order of kind and id
}

// Undoer undoes the orphans of a service, one at a time. Both methods run in the transaction that
// acts, and must not end it, nor change anything outside of it.
type Undoer interface {
	// Lock takes the lock under which everybody changes the candidate, such as an advisory lock of the
	// transaction on its aggregate, or its row FOR UPDATE. A candidate that is gone is no error.
	Lock(ctx context.Context, tx pgx.Tx, c Candidate) error
	// Undo is called under that lock, when the candidate was found to be one still. It erases or
	// deactivates, so that the query finds it no more, or leaves it intact and gives it to a person:
	// the reason of hold.Quarantine is a code here, lower-case letters, digits and dashes.
	Undo(ctx context.Context, tx pgx.Tx, c Candidate, by Order) (hold.Fate, error)
}

// Order is who wants it done, and why: for the results file, and for the audit of the service.
type Order struct {
	Actor  string // 1 to 255 bytes
	Reason string // 1 to 1024 bytes
}

// Config is what a sweep works with. The zero value of a field means its default; Candidates and
// Undo are needed.
type Config struct {
	// Schema is the database schema in which the component hold is installed, a plain
	// lower-case identifier of at most 50 bytes. Defaults to "outbox".
	Schema string

	// Candidates is the service's query, one statement without a semicolon. It returns a row for each
	// entity of each candidate:
	//
	//	id           text         of the candidate; the rows of one candidate have it in common
	//	marked       boolean      whether the entity bears the mark of the flow that is swept
	//	made_at      timestamptz  when it was made
	//	entity_kind  text         as receipts have it
	//	entity_id    text         the stable id, as receipts have it
	//
	// It leaves out what has an owner and what is undone. $1 is the id of one candidate as text, or
	// null for all: a query that uses it, as in ($1::text IS NULL OR p.id = $1::text::uuid), finds one
	// through its index. Ids are kept and shown, so they must be no personal data: letters, digits and . _ : - only.
	Candidates string
	// Undo undoes one.
	Undo Undoer

	// Quiet is how old an entity must be: whoever made it must have had the time to make its owner
	// known. Defaults to 24 hours.
	Quiet time.Duration
	// Most is how many candidates a manifest has at most. Those without the mark take no place of one that
	// bears it. Defaults to 10000.
	Most int
	// Wait is how long a lock of a candidate, or the end of a transaction that an earlier run left
	// behind, is waited for. Defaults to 10 seconds.
	Wait time.Duration
}

// Sweep plans and applies. It holds no connection and no state, and is safe for concurrent use.
type Sweep struct {
	cfg                                             Config
	session, candidates, all, page, covered, active string // statements
	bounds, transaction, transactionEnd             string
}

var (
	//go:embed sql/session.sql
	sessionSQL string
	//go:embed sql/candidates.sql
	candidatesSQL string
	//go:embed sql/walk.sql
	walkSQL string
	//go:embed sql/page.sql
	pageSQL string
	//go:embed sql/covered.sql
	coveredSQL string
	//go:embed sql/active.sql
	activeSQL string
	//go:embed sql/bounds.sql
	boundsSQL string
	//go:embed sql/transaction.sql
	transactionSQL string
	//go:embed sql/transaction_end.sql
	transactionEndSQL string
)

// New returns a Sweep. It does not look into a database. Errors: *outbox.InvalidArgumentError.
func New(cfg Config) (*Sweep, error) {
	schema, err := call.Schema(cfg.Schema)
	if err != nil {
		return nil, fmt.Errorf("configure sweep: %w", err)
	}
	cfg.Schema = schema
	if cfg.Quiet == 0 {
		cfg.Quiet = 24 * time.Hour
	}
	if cfg.Most == 0 {
		cfg.Most = 10_000
	}
	if cfg.Wait == 0 {
		cfg.Wait = 10 * time.Second
	}
	cfg.Candidates = trimmed(cfg.Candidates)
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configure sweep: %w", err)
	}
	candidates := strings.ReplaceAll(call.Statement(schema, candidatesSQL), "{{.Candidates}}", cfg.Candidates)
	return &Sweep{
		cfg:            cfg,
		session:        call.Statement(schema, sessionSQL),
		candidates:     candidates,
		all:            strings.ReplaceAll(call.Statement(schema, walkSQL), "{{.All}}", candidates),
		page:           call.Statement(schema, pageSQL),
		covered:        call.Statement(schema, coveredSQL),
		active:         call.Statement(schema, activeSQL),
		bounds:         call.Statement(schema, boundsSQL),
		transaction:    call.Statement(schema, transactionSQL),
		transactionEnd: call.Statement(schema, transactionEndSQL),
	}, nil
}

func (c Config) check() error {
	switch {
	case c.Candidates == "":
		return call.Invalid("candidates", "is empty", "Pass the query that finds the orphans of the service.")
	case c.Undo == nil:
		return call.Invalid("undo", "is nil", "Pass what undoes a candidate.")
	case c.Quiet < 0:
		return call.Invalid("quiet", "is negative", "Say how long entities must have been there.")
	case c.Most < 1 || c.Most > maxCandidates:
		return call.Invalid("most", fmt.Sprintf("must be 1 to %d", maxCandidates), "Sweep the rest with another manifest.")
	case c.Wait <= 0:
		return call.Invalid("wait", "must be positive", "Say how long a lock is waited for.")
	}
	return nil
}

// maxCandidates bounds what is in memory.
const maxCandidates = 100_000

func (o Order) check() error {
	if err := call.CheckText("actor", o.Actor, 1, 255, "Say who does it: it is kept in the results."); err != nil {
		return err
	}
	return call.CheckText("reason", o.Reason, 1, 1024, "Say why in a few words: they are kept in the results.")
}

// trimmed is a statement without the space and the semicolon at its end.
func trimmed(statement string) string {
	return strings.TrimRight(strings.TrimSpace(statement), "; \t\r\n")
}
