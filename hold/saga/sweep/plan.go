package sweep

import (
	"context"
	"fmt"
	"slices"

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
	d := &draft{most: s.cfg.Most, Manifest: &Manifest{Header: Header{
		Format: format, Database: at.Database, PlannedAt: at.now, Quiet: s.cfg.Quiet.Seconds(), Service: s.service()}}}
	rows, err := tx.Query(ctx, s.active)
	if err != nil {
		return nil, explain(err)
	}
	if d.Active, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64]); err != nil {
		return nil, explain(err)
	}
	err = s.walk(ctx, tx, func(page []found) (full bool, err error) {
		var entities []Entity
		for _, f := range page {
			entities = append(entities, f.Entities...)
		}
		covered, err := s.isCovered(ctx, tx, entities)
		return err == nil && d.sort(page, covered), err
	})
	if err != nil {
		return nil, err
	}
	d.trim()
	return d.Manifest, nil
}

// draft is a manifest that is being made.
type draft struct {
	*Manifest
	most              int
	marked, ambiguous int // of its candidates
}

// sort puts candidates where they belong, and reports whether the manifest is full: it has as many as it may that
// bear the mark, and there is another one.
func (d *draft) sort(page []found, covered map[Entity]bool) (full bool) {
	for _, f := range page {
		switch {
		case anyOf(covered, f.Entities):
			d.Covered++
			continue
		case f.young:
			d.Young++
			continue
		case f.marked && d.marked == d.most:
			d.More = true
			return true
		case f.marked:
			d.marked++
		case d.ambiguous == d.most:
			d.More = true
			continue
		default:
			d.ambiguous++
		}
		d.Candidates = append(d.Candidates, Planned{Candidate: f.Candidate, Ambiguous: !f.marked})
	}
	return false
}

// trim leaves to those without the mark the places that the others do not need: nothing is done to them, so
// they would be in the way of each plan.
func (d *draft) trim() {
	room := d.most - d.marked
	d.Candidates = slices.DeleteFunc(d.Candidates, func(c Planned) bool {
		if !c.Ambiguous {
			return false
		}
		room--
		d.More = d.More || room < 0
		return room < 0
	})
}

// service are the statements that the manifest holds.
func (s *Sweep) service() Service {
	service := Service{Candidates: s.cfg.Candidates}
	if statements, ok := s.cfg.Undo.(Statements); ok {
		service.Lock, service.Undo = trimmed(statements.LockSQL), trimmed(statements.UndoSQL)
	}
	return service
}
