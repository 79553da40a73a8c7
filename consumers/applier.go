package consumers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers/facts"
	"github.com/holdfast-dev/holdfast/consumers/internal/lazytx"
)

// Handler handles one event in a transaction: it claims the fact first, writes the effect when the
// fact is new, and writes nothing otherwise. It neither commits nor rolls back, and calls nothing
// outside. An error rolls everything back; [Permanent] and [Unavailable] say what it means. It
// returns when ctx ends: one that does not is left to itself, and its transaction is ended. It must
// be safe for concurrent use.
type Handler func(ctx context.Context, tx *facts.Tx, e event.Event) error

// Delivered is an event of a batch, with the transaction as it sees it: claims that are made
// with its Tx are its own. Other statements may use the Tx of any.
type Delivered struct {
	Tx    *facts.Tx
	Event event.Event
}

// BatchHandler handles the events of a batch, in order and in one transaction, by the rules of a
// [Handler]: it claims the facts of all of them first, with [facts.ClaimAll], and writes the effects of
// those that are new. After an error, and whenever anything is wrong with one of them, the
// transaction is rolled back and the Handler gets each alone.
type BatchHandler func(ctx context.Context, batch []Delivered) error

// Outcome is what became of an event that needs no other delivery.
type Outcome string

// The outcomes.
const (
	Applied     Outcome = "applied"     // a fact of it was new, and its effect is proven
	Replayed    Outcome = "replayed"    // its facts were known, and their effects are proven
	Quarantined Outcome = "quarantined" // it tells a known fact in another way
	Ignored     Outcome = "ignored"     // it tells no fact
)

// Result is the answer of [Applier.Apply].
type Result struct {
	Outcome Outcome
	Claims  []facts.Claimed
	Probed  bool // the probe knew the fact, and the handler was not asked
	// Audited is false when the inbox could not be written while the effect is proven: a defect
	// of the audit, which keeps no message on the stream.
	Audited bool
}

// Applier applies events once: the transaction, the proof and the quarantine, without a broker.
// Whatever writes the same effects for another reason, such as a webhook, a replay or a repair,
// uses one too. Its methods are safe for concurrent use.
type Applier struct {
	cfg     Config
	pool    *pgxpool.Pool
	handle  Handler
	proofs  proofs
	guards  bool // a commit may be guarded
	sql     statements
	metrics *metrics
	stuck   atomic.Int64 // handlers and proofs that were left to themselves and have not come back
}

// NewApplier makes an applier over a pool, which stays the caller's to close. It connects to
// nothing. Errors: [*ConfigError].
func NewApplier(pool *pgxpool.Pool, handle Handler, cfg Config) (*Applier, error) {
	cfg = cfg.withDefaults()
	var p problems
	cfg.validateApply(&p)
	p.check(handle != nil, "handler: is required")
	if err := p.err(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.MeterProvider, cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("new applier: %w", err)
	}
	return &Applier{
		cfg: cfg, pool: pool, handle: handle, proofs: newProofs(cfg.Schema, cfg.Effects, cfg.Proof), guards: guards(pool, cfg),
		sql: newStatements(cfg.Schema), metrics: m,
	}, nil
}

// runAgain is how often a transaction that lost against others is run in all.
const runAgain = 3

// Apply handles an event in one transaction and proves its effect after the commit. A nil error
// means that the event needs no other delivery. [Classify] says what another error means; nothing
// is recorded about it, and nothing is written, unless it is [ErrUnknownCommit], a [*ProofError]
// after the commit, or about an event in quarantine in strict mode.
func (a *Applier) Apply(ctx context.Context, e event.Event) (Result, error) {
	return a.applyBy(ctx, guarded, e)
}

// applyBy applies an event and concludes it in one way at first.
func (a *Applier) applyBy(ctx context.Context, w way, e event.Event) (Result, error) {
	if err := storableEvent(e); err != nil {
		return Result{}, err
	}
	t := &attempt{}
	done, err := a.within(ctx, t, w, e)
	if errors.As(err, new(*unclearError)) {
		done, err = a.within(ctx, t, careful, e)
	}
	if err != nil {
		return Result{}, err
	}
	a.tell(ctx, e, done[0].Result)
	if a.cfg.Strict && done[0].open {
		return done[0].Result, errInQuarantine
	}
	return done[0].Result, nil
}

// within runs the transaction of an event in the time that it has.
func (a *Applier) within(ctx context.Context, t *attempt, w way, e event.Event) ([]applied, error) {
	limited, cancel := context.WithTimeout(ctx, a.cfg.HandleTimeout)
	defer cancel()
	done, err := a.bounded(limited, t, func() ([]applied, error) { return a.commit(limited, t, w, e) })
	switch {
	case err == nil || limited.Err() == nil || ctx.Err() != nil || errors.As(err, new(*unclearError)):
		return done, err
	case w == guarded && errors.Is(err, ErrUnknownCommit):
		return nil, &unclearError{err}
	}
	return nil, a.overdue(ctx, err)
}

// applied is what a transaction did with an event. open says that it is in quarantine and nobody
// has resolved it.
type applied struct {
	Result
	open bool
}

// tell counts a result, and alarms where somebody has to look.
func (a *Applier) tell(ctx context.Context, e event.Event, r Result) {
	a.metrics.claimed(ctx, r)
	if r.Outcome == Quarantined {
		a.alarm(ctx, e, r)
	}
}

// commit runs the transaction of an event, again where that helps.
func (a *Applier) commit(ctx context.Context, t *attempt, w way, e event.Event) ([]applied, error) {
	for {
		t.runs++
		done, err := a.transaction(ctx, t, w, e)
		var defect *auditError
		switch {
		case errors.As(err, new(*unclearError)):
			return nil, err
		case errors.As(err, &defect):
			w = unaudited
			a.metrics.auditFailed(ctx)
			a.cfg.Logger.ErrorContext(ctx, "the inbox cannot be written: the delivery goes on without it", "consumer", a.cfg.Name, "event_id", e.ID(), "cause", kindOf(err))
		case err == nil:
			done[0].Audited = w != unaudited
			return done, nil
		case Classify(err) != Again || t.runs >= runAgain || ctx.Err() != nil:
			return nil, err
		}
	}
}

// beginError says that the transaction did not begin, so that nothing can be held against the event.
type beginError struct{ err error }

func (e *beginError) Error() string { return "begin: " + e.err.Error() }
func (e *beginError) Unwrap() error { return e.err }

// lostError says that the connection is closed, by the database or because a statement took too long.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// auditError is a refusal of the inbox by the database, which took everything else.
type auditError struct{ error }

func (e *auditError) Unwrap() error { return e.error }

// transaction is the protocol up to the commit, for one event or several: all of them or none.
func (a *Applier) transaction(ctx context.Context, t *attempt, w way, events ...event.Event) (done []applied, err error) {
	pooled, err := a.pool.Acquire(ctx)
	if err != nil {
		return nil, Unavailable(&beginError{err})
	}
	conn, err := t.opens(pooled)
	if err != nil {
		return nil, err
	}
	defer t.closes(conn)
	plain := lazytx.New(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	ended := false // by us, whatever became of it
	defer func() {
		if ended {
			return
		}
		switch begin := plain.BeginError(); {
		case err != nil && begin != nil: // whatever the handler made of it
			err = Unavailable(&beginError{begin})
		case err != nil && conn.IsClosed():
			err = Unavailable(&lostError{err})
		}
		// Whoever waits for this fact goes on before the message is given back.
		late, cancel := a.detached(ctx)
		defer cancel()
		_ = plain.Rollback(late) // else the connection is closed, which ends it too
	}()
	if done, err = a.apply(ctx, plain, events); err != nil {
		return nil, err
	}
	for i, e := range events {
		if done[i].open, err = a.quarantine(ctx, plain, e, done[i].Claims); err != nil {
			return nil, err
		}
	}
	if plain.Conn(); plain.BeginError() != nil { // of an event for which nothing was asked
		return nil, plain.BeginError()
	}
	late, cancel := a.outliving(ctx)
	defer cancel()
	claims := claimsOf(done)
	if w == guarded && a.guards {
		questions, err := a.proofs.questions(claims)
		if err == nil {
			err = t.commits(ctx)
		}
		if err != nil {
			return nil, err
		}
		err = a.commitGuarded(late, plain, questions, claims, events)
		ended = conn.IsClosed() || conn.PgConn().TxStatus() == 'I'
		return done, err
	}
	if err := a.conclude(ctx, plain, claims, w, events); err != nil {
		return nil, err
	}
	if err := t.commits(ctx); err != nil {
		return nil, err
	}
	ended = true
	return done, a.commitAndProve(late, plain, claims)
}

// apply has the handler apply events in the transaction.
func (a *Applier) apply(ctx context.Context, plain *lazytx.Tx, events []event.Event) ([]applied, error) {
	done, batch := make([]applied, len(events)), make([]Delivered, len(events))
	var asked []Delivered // those that the probe did not know
	for i, e := range events {
		tx, err := facts.In(plain, a.cfg.Schema, facts.Told{Source: e.Source(), ID: e.ID()})
		if err != nil {
			return nil, err
		}
		if done[i].Probed, err = a.probe(ctx, tx, e); err != nil {
			return nil, err
		}
		if batch[i] = (Delivered{Tx: tx, Event: e}); !done[i].Probed {
			asked = append(asked, batch[i])
		}
	}
	if err := a.callAll(ctx, asked); err != nil {
		return nil, err
	}
	if !plain.Waits() {
		if err := left(plain.Conn().PgConn()); err != nil {
			return nil, err
		}
	}
	for i, d := range batch {
		done[i].Claims = d.Tx.Claims()
		if len(done[i].Claims) == 0 && !d.Tx.Factless() {
			return nil, ErrNoFact
		}
		done[i].Outcome = outcomeOf(done[i].Claims)
	}
	return done, nil
}

// left judges in which state a handler leaves its connection.
func left(pg *pgconn.PgConn) error {
	switch {
	case pg.IsBusy():
		return ErrUnread
	case pg.TxStatus() == 'E':
		return ErrSwallowed
	case pg.TxStatus() == 'I':
		return facts.ErrNotYours // by SQL
	}
	return nil
}

// claimsOf returns what has to be proven: what is in quarantine needs no effect.
func claimsOf(done []applied) (all []facts.Claimed) {
	for _, one := range done {
		for _, c := range one.Claims {
			if c.Outcome != facts.Mismatch {
				all = append(all, c)
			}
		}
	}
	return all
}

// detached outlives ctx: ending a transaction must be tried, also when the handler was cut.
func (a *Applier) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), a.cfg.SettleTimeout)
}

func (a *Applier) probe(ctx context.Context, tx *facts.Tx, e event.Event) (known bool, err error) {
	if a.cfg.Probe == nil {
		return false, nil
	}
	var fact facts.Fact
	tells := false
	err = guard(func() error {
		fact, tells = a.cfg.Probe(e)
		return nil
	})
	if err != nil || !tells {
		return false, err
	}
	_, known, err = facts.Known(ctx, tx, fact)
	return known, err
}

// callAll runs the handler for each, or the one for batches.
func (a *Applier) callAll(ctx context.Context, batch []Delivered) error {
	if a.cfg.Together != nil && len(batch) > 1 {
		began := time.Now()
		err := guard(func() error { return a.cfg.Together(ctx, batch) })
		a.metrics.handled(ctx, time.Since(began), err)
		return err
	}
	for _, d := range batch {
		if err := a.call(ctx, d.Tx, d.Event); err != nil {
			return err
		}
	}
	return nil
}

// call runs the handler.
func (a *Applier) call(ctx context.Context, tx *facts.Tx, e event.Event) error {
	began := time.Now()
	err := guard(func() error { return a.handle(ctx, tx, e) })
	a.metrics.handled(ctx, time.Since(began), err)
	return err
}

// guard makes an error of a panic: what the service gave us may not end its process.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return f()
}

// quarantine writes down what was told in another way. open says that one of them waits for a person.
func (a *Applier) quarantine(ctx context.Context, tx pgx.Tx, e event.Event, claims []facts.Claimed) (open bool, err error) {
	for _, c := range claims {
		if c.Outcome != facts.Mismatch {
			continue
		}
		var state string
		err := tx.QueryRow(ctx, a.sql.quarantine, c.ID, a.cfg.Name, e.Source(), e.ID(), e.Type(), jsonText(c.Difference)).Scan(&state)
		if err != nil {
			return false, fmt.Errorf("quarantine: %w", err)
		}
		open = open || state == "open"
	}
	return open, nil
}

// ErrTimeout: the transaction took longer than HandleTimeout while the database was well. It
// counts as an attempt.
var ErrTimeout = errors.New("handling took too long")

// overdue tells a handler that hangs from a database that does.
func (a *Applier) overdue(ctx context.Context, err error) error {
	ctx, cancel := a.detached(ctx)
	defer cancel()
	if errors.As(err, new(*beginError)) || errors.As(err, new(*committedError)) || errors.Is(err, ErrUnknownCommit) {
		return err
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*lostError)) {
		return err
	}
	if down := a.pool.Ping(ctx); down != nil {
		return Unavailable(err)
	}
	return fmt.Errorf("%w: %w", ErrTimeout, stripped{err})
}

// stripped keeps the text of an error and no class.
type stripped struct{ err error }

func (e stripped) Error() string { return e.err.Error() }

// alarm says that somebody has to look. It names attributes, and no value.
func (a *Applier) alarm(ctx context.Context, e event.Event, r Result) {
	for _, c := range r.Claims {
		if c.Outcome == facts.Mismatch {
			a.cfg.Logger.ErrorContext(ctx, "an event tells a known fact in another way: it is in quarantine", "consumer", a.cfg.Name,
				"event_id", e.ID(), "event_type", e.Type(), "fact_id", c.ID, "fact_type", c.Type, "attributes", sortedKeys(c.Difference))
		}
	}
}

func outcomeOf(claims []facts.Claimed) Outcome {
	outcome := Ignored
	for _, c := range claims {
		switch {
		case c.Outcome == facts.Mismatch:
			return Quarantined
		case c.Outcome == facts.Applied:
			outcome = Applied
		case outcome == Ignored:
			outcome = Replayed
		}
	}
	return outcome
}

// MalformedError is about an event that cannot be kept in the tables. Trying again cannot help.
type MalformedError struct{ Field, Reason string }

func (e *MalformedError) Error() string { return "check event: " + e.Field + " " + e.Reason }

// storableEvent judges what the tables have of an event.
func storableEvent(e event.Event) error {
	for _, field := range []struct {
		name, value string
		limit       int
	}{{"source", e.Source(), 1024}, {"id", e.ID(), 255}, {"type", e.Type(), 255}} {
		switch {
		case field.value == "":
			return Permanent(&MalformedError{field.name, "is missing"})
		case len(field.value) > field.limit:
			return Permanent(&MalformedError{field.name, fmt.Sprintf("has more than %d bytes", field.limit)})
		case !storable(field.value):
			return Permanent(&MalformedError{field.name, "is not UTF-8 text without NUL"})
		}
	}
	return nil
}
