package registry

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

// Orphans is the sweep of households that the application flow made and no application owns: what an
// operation left behind before there were receipts. The households of all applications must be in
// owned_household.
func Orphans() (*sweep.Sweep, error) {
	return sweep.New(sweep.Config{Candidates: orphansSQL, Undo: orphanEraser{}})
}

// orphanEraser implements sweep.Undoer.
type orphanEraser struct{}

// Lock takes the rows that everybody shares who adds to one of them.
func (orphanEraser) Lock(ctx context.Context, tx pgx.Tx, c sweep.Candidate) error {
	_, err := tx.Exec(ctx, lockEntitiesSQL, ids(c))
	return err
}

// Undo destroys the keys of all that is known about its entities.
func (orphanEraser) Undo(ctx context.Context, tx pgx.Tx, c sweep.Candidate, _ sweep.Order) (hold.Fate, error) {
	_, err := tx.Exec(ctx, eraseOrphanSQL, ids(c))
	return hold.Undone(), err
}

func ids(c sweep.Candidate) []string {
	all := make([]string, len(c.Entities))
	for i, e := range c.Entities {
		all[i] = e.ID
	}
	return all
}
