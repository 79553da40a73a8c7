package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/internal/call"
)

// resolve writes the results of what earlier runs were about to commit when they ended.
func (s *Sweep) resolve(ctx context.Context, db hold.DB, todo []Planned, j *journal) error {
	for _, c := range todo {
		intended, open := j.open[c.ID]
		if !open {
			continue
		}
		result, err := s.ended(ctx, db, c.Candidate, intended)
		if err != nil {
			return fmt.Errorf("candidate %s: %w", c.ID, err)
		}
		if result.Outcome == "" { // it is acted on anew
			j.forget(c.ID)
			continue
		}
		if err := j.decide(result); err != nil {
			return err
		}
	}
	return nil
}

// lookEvery is the pause between two looks at a transaction that has not ended.
const lookEvery = 50 * time.Millisecond

// ended asks the database what became of a transaction, and waits for its end. It returns what settled does.
func (s *Sweep) ended(ctx context.Context, db hold.DB, c Candidate, intended Result) (Result, error) {
	limit := time.NewTimer(s.cfg.Wait)
	defer limit.Stop()
	for {
		end, err := s.endOf(ctx, db, intended.Transaction)
		if err != nil {
			return Result{}, err
		}
		if end.state != inProgress {
			return s.settled(ctx, db, c, intended, end)
		}
		select {
		case <-time.After(lookEvery):
		case <-limit.C:
			return Result{}, refuse(ErrBusy, "Come again when it has ended: pg_stat_activity shows it by its backend_xid.",
				"transaction %s of an earlier run has not ended", intended.Transaction)
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

// settled is what became of a candidate whose transaction has ended: what was intended if it was committed, no
// outcome if it was not, and a candidate for a person if nobody knows.
func (s *Sweep) settled(ctx context.Context, db hold.DB, c Candidate, intended Result, end txEnd) (Result, error) {
	switch {
	case end.state == aborted:
		return Result{}, nil
	case end.state != committed:
		return Result{ID: c.ID, Outcome: Quarantined, Why: WhyUnknown, Transaction: intended.Transaction, At: end.at}, nil
	case intended.Outcome != Undone: // it was left intact, so that nothing can be seen
		return intended, nil
	}
	// The id may be that of another one: a database that was restored gives ids out again. An undo leaves
	// no part of its candidate to be found.
	left, err := s.find(ctx, db, c.ID)
	if err != nil || left != nil && slices.ContainsFunc(c.Entities, func(e Entity) bool { return slices.Contains(left.Entities, e) }) {
		return Result{}, err
	}
	return intended, nil
}

// txEnd is what became of a transaction, and when that was asked.
type txEnd struct {
	state string
	at    time.Time
}

// The states of a transaction that the database tells apart. Any other word is that it does not know.
const (
	committed  = "committed"
	aborted    = "aborted"
	inProgress = "in progress"
)

func (s *Sweep) endOf(ctx context.Context, db hold.DB, transaction string) (end txEnd, err error) {
	rows, err := db.Query(ctx, s.transactionEnd, transaction)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&end.state, &end.at}, func() error { return nil })
	}
	if call.State(err) == "22023" { // it lies in the future: this is an earlier state of the database
		at, err := s.ask(ctx, db)
		return txEnd{"never", at.now}, err
	}
	end.at = end.at.UTC()
	return end, explain(err)
}

// endsOf is what became of all that was about to be committed, by candidate.
func (s *Sweep) endsOf(ctx context.Context, db hold.DB, j *journal) (map[string]txEnd, error) {
	ends := map[string]txEnd{}
	for id, intended := range j.open {
		end, err := s.endOf(ctx, db, intended.Transaction)
		if err != nil {
			return nil, fmt.Errorf("candidate %s: %w", id, err)
		}
		ends[id] = end
	}
	return ends, nil
}
