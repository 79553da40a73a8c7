package sweep

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

// Application is an order to act on a manifest.
type Application struct {
	Order
	// Seal is that of the manifest which was reviewed.
	Seal string
	// Results is the path of the results file. It is made if it is not there, and gone on with if it is.
	Results string
	// Limit is how many candidates this run acts on at most. Defaults to all.
	Limit int
	// Progress is called after each candidate, with how many have an outcome, and of how many. Optional.
	Progress func(done, of int)
}

// Apply acts on the candidates of a manifest that have no outcome yet, one transaction each, and returns what
// became of all of them. A candidate that fails does not stop the others. After an error, a crash or an
// unknown outcome Apply can be called again with the same results file.
//
// Errors, beside the report as far as it goes:
//   - [ErrSeal], [ErrForeign], [ErrChanged], [ErrRole], [ErrResults]: nothing was done.
//   - [ErrBusy]: another run has not ended, here or in the database.
//   - *outbox.InvalidArgumentError: the order cannot be meant.
//   - those of the database and the file that would stop every candidate.
func (s *Sweep) Apply(ctx context.Context, db hold.Beginner, m *Manifest, a Application) (*Report, error) {
	err := a.check()
	if err == nil {
		err = s.admit(ctx, db, m, a.Seal)
	}
	if err != nil {
		return nil, fmt.Errorf("apply sweep: %w", err)
	}
	j, err := openJournal(a.Results, a.Seal)
	if err != nil {
		return nil, fmt.Errorf("apply sweep: %w", err)
	}
	err = s.run(ctx, db, m, a, j)
	if closeErr := j.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		err = fmt.Errorf("apply sweep: %w", err)
	}
	return report(m, j.decided), err
}

// admit refuses what may not act, before any statement of the manifest runs and anything is written.
func (s *Sweep) admit(ctx context.Context, db hold.DB, m *Manifest, seal string) error {
	if seal != m.Seal() {
		return refuse(ErrSeal, "Pass the seal that was reviewed; if it is not that of the manifest, somebody has changed it.", "it was sealed with %s", m.Seal())
	}
	at, err := s.belongs(ctx, db, m)
	if err != nil {
		return err
	}
	return at.mayAct()
}

// belongs refuses a manifest of another database, or of other statements.
func (s *Sweep) belongs(ctx context.Context, db hold.DB, m *Manifest) (session, error) {
	if s.service() != m.Service {
		return session{}, refuse(ErrChanged, "Plan anew: what was reviewed must be what runs.", "the service gives others")
	}
	at, err := s.ask(ctx, db)
	if err == nil && at.Database != m.Database {
		err = refuse(ErrForeign, "Apply it where it was planned. A database that was moved or restored wants a new plan.",
			"it was planned in %s, cluster %s, schema %s", m.Database.Name, m.Database.Cluster, m.Database.Schema)
	}
	return at, err
}

// run goes through the candidates once.
func (s *Sweep) run(ctx context.Context, db hold.Beginner, m *Manifest, a Application, j *journal) error {
	todo := undecided(m, j)
	if len(todo) == 0 {
		return nil
	}
	at, err := s.ask(ctx, db)
	if err != nil {
		return err
	}
	if err := j.write(line{Run: &runLine{Manifest: a.Seal, Actor: a.Actor, Reason: a.Reason, At: at.now}}); err != nil {
		return err
	}
	if err := s.resolve(ctx, db, todo, j); err != nil {
		return err
	}
	acted := 0
	for _, c := range todo {
		if j.decided[c.ID].final() { // just now resolved
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		result := Result{ID: c.ID, Outcome: Quarantined, Why: WhyNoMark, At: at.now}
		if !c.Ambiguous {
			if a.Limit > 0 && acted == a.Limit {
				continue
			}
			acted++
			if result, err = s.act(ctx, db, c.Candidate, a.Order, j); err != nil {
				return err
			}
		}
		if err := j.decide(result); err != nil {
			return err
		}
		if a.Progress != nil {
			a.Progress(len(j.decided), len(m.Candidates))
		}
	}
	return nil
}

func undecided(m *Manifest, j *journal) (todo []Planned) {
	for _, c := range m.Candidates {
		if !j.decided[c.ID].final() {
			todo = append(todo, c)
		}
	}
	return todo
}

// Preview judges the candidates that have no outcome yet as Apply would, without a lock, in one read-only
// snapshot, and changes nothing. Its report has the outcomes so far, those that Apply would come to
// without acting, and as Pending the ids that it would act on. Results may be the path of a file
// that is not there. It runs the query of the manifest, so it wants the login that acts. Of the application it
// needs Results alone; a Seal is compared if there is one. Errors are those of Apply.
func (s *Sweep) Preview(ctx context.Context, db hold.Beginner, m *Manifest, a Application) (*Report, error) {
	found, err := s.preview(ctx, db, m, a)
	if err != nil {
		return nil, fmt.Errorf("preview sweep: %w", err)
	}
	return found, nil
}

func (s *Sweep) preview(ctx context.Context, db hold.Beginner, m *Manifest, a Application) (*Report, error) {
	j, err := readJournal(a.Results, m.Seal())
	if err != nil {
		return nil, err
	}
	seal := a.Seal
	if seal == "" { // nobody has reviewed it yet
		seal = m.Seal()
	}
	if err := s.admit(ctx, db, m, seal); err != nil {
		return nil, err
	}
	// Before the snapshot, which so has what these transactions did; and not in it: a question that the
	// database refuses would end it.
	ends, err := s.endsOf(ctx, db, j)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, explain(err)
	}
	defer rollback(ctx, tx)
	known := map[string]Result{}
	for _, c := range m.Candidates {
		result, err := s.foresee(ctx, tx, c, j, ends)
		if err != nil {
			return nil, err
		}
		if result.Outcome != "" {
			known[c.ID] = result
		}
	}
	return report(m, known), nil
}

// foresee says what Apply would come to without acting: no outcome if it would act.
func (s *Sweep) foresee(ctx context.Context, tx pgx.Tx, c Planned, j *journal, ends map[string]txEnd) (Result, error) {
	if result := j.decided[c.ID]; result.final() {
		return result, nil
	}
	if end, open := ends[c.ID]; open {
		if end.state == inProgress {
			return Result{}, nil
		}
		if result, err := s.settled(ctx, tx, c.Candidate, j.open[c.ID], end); err != nil || result.Outcome != "" {
			return result, err
		}
	}
	if c.Ambiguous {
		return Result{ID: c.ID, Outcome: Quarantined, Why: WhyNoMark}, nil
	}
	outcome, why, err := s.judge(ctx, tx, c.Candidate)
	return Result{ID: c.ID, Outcome: outcome, Why: why}, err
}
