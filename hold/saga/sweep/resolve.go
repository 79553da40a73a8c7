package sweep

import (
	"context"
	"fmt"
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
		result, err := s.ended(ctx, db, intended)
		if err != nil {
			return fmt.Errorf("candidate %s: %w", c.ID, err)
		}
		if result.Outcome == "" {
			continue // rolled back: it is acted on anew
		}
		if err := j.decide(result); err != nil {
			return err
		}
	}
	return nil
}

// lookEvery is the pause between two looks at a transaction that has not ended.
const lookEvery = 50 * time.Millisecond

// ended asks the database what became of a transaction, and waits for its end. It returns what was intended
// if it was committed, no outcome if it was rolled back, and a candidate for a person if nobody knows.
func (s *Sweep) ended(ctx context.Context, db hold.DB, intended Result) (Result, error) {
	limit := time.NewTimer(s.cfg.Wait)
	defer limit.Stop()
	for {
		state, at, err := s.stateOf(ctx, db, intended.Transaction)
		if err != nil {
			return Result{}, err
		}
		if state != "in progress" {
			return settled(intended, state, at), nil
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

// settled is what became of a candidate whose transaction has ended.
func settled(intended Result, state string, at time.Time) Result {
	switch state {
	case "committed":
		return intended
	case "aborted":
		return Result{}
	}
	return Result{ID: intended.ID, Outcome: Quarantined, Why: WhyUnknown, Transaction: intended.Transaction, At: at}
}

// stateOf returns "committed", "aborted", "in progress", or another word when the database does not know.
func (s *Sweep) stateOf(ctx context.Context, db hold.DB, transaction string) (state string, at time.Time, err error) {
	rows, err := db.Query(ctx, s.transactionEnd, transaction)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&state, &at}, func() error { return nil })
	}
	if call.State(err) == "22023" { // it lies in the future: this is an earlier state of the database
		at, err := s.ask(ctx, db)
		return "never", at.now, err
	}
	return state, at.UTC(), explain(err)
}
