package sweep

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

// Plan finds the orphans, in one read-only snapshot, and changes nothing. Plan when it is quiet: what is
// made meanwhile is not in it.
//
// Errors: [ErrCandidates], and those of the database, without their text.
func (s *Sweep) Plan(ctx context.Context, db hold.Beginner) (*Manifest, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("plan sweep: %w", explain(err))
	}
	defer rollback(ctx, tx)
	m, err := s.plan(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("plan sweep: %w", err)
	}
	return m, nil
}

func (s *Sweep) plan(ctx context.Context, tx pgx.Tx) (*Manifest, error) {
	at, err := s.ask(ctx, tx)
	if err != nil {
		return nil, err
	}
	all, more, err := s.find(ctx, tx, "", s.cfg.Most)
	if err != nil {
		return nil, err
	}
	var entities []Entity
	for _, f := range all {
		entities = append(entities, f.Entities...)
	}
	covered, err := s.isCovered(ctx, tx, entities)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Header: Header{Format: format, Database: at.Database, PlannedAt: at.now, Quiet: s.cfg.Quiet.Seconds(), More: more, Service: s.service()}}
	rows, err := tx.Query(ctx, s.active)
	if err != nil {
		return nil, explain(err)
	}
	if m.Active, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64]); err != nil {
		return nil, explain(err)
	}
	for _, f := range all {
		switch {
		case anyOf(covered, f.Entities):
			m.Covered++
		case f.young:
			m.Young++
		default:
			m.Candidates = append(m.Candidates, Planned{Candidate: f.Candidate, Ambiguous: !f.marked})
		}
	}
	return m, nil
}

// service are the statements that the manifest holds.
func (s *Sweep) service() Service {
	service := Service{Candidates: s.cfg.Candidates}
	if statements, ok := s.cfg.Undo.(Statements); ok {
		service.Lock, service.Undo = trimmed(statements.LockSQL), trimmed(statements.UndoSQL)
	}
	return service
}
