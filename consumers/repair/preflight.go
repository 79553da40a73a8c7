package repair

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// preflight puts every key with more than one row into a shape, and stops at any that is not repaired.
func (j *job) preflight(ctx context.Context) error {
	if err := j.tx.QueryRow(ctx, j.sql["count"]).Scan(&j.report.Rows, &j.report.Facts); err != nil {
		return wrap("count rows", err)
	}
	if err := j.groups(ctx); err != nil {
		return err
	}
	if err := j.each(ctx, "keyless", Keyless); err != nil {
		return err
	}
	j.report.Duplicates = int64(len(j.duplicates))
	j.report.Facts -= j.report.Duplicates // a duplicate has none, or its group is refused
	if err := j.planEvents(ctx); err != nil {
		return err
	}
	state, _, err := j.indexState(ctx)
	if err != nil {
		return err
	}
	j.report.IndexState = state
	return j.refuse()
}

func (j *job) refuse() error {
	if j.report.Refusals() > 0 {
		return &RefusedError{j.report}
	}
	return nil
}

// groups reads every key with more than one row.
func (j *job) groups(ctx context.Context) error {
	rows, err := j.tx.Query(ctx, j.sql["groups"])
	if err != nil {
		return wrap("find duplicates", err)
	}
	var ids, statuses []string
	var identical, untouched, referenced, claimed, reversed bool
	_, err = pgx.ForEachRow(rows, []any{&ids, &statuses, &identical, &untouched, &referenced, &claimed, &reversed}, func() error {
		g := Group{Shape: Identical, IDs: ids}
		switch {
		case !identical:
			g.Shape = Differs
		case !untouched:
			g.Shape = Touched
		case referenced:
			g.Shape = Referenced
		case claimed:
			g.Shape = Claimed
		case reversed:
			g.Shape = Reversed
		}
		j.report.note(g, j.cfg.Examples)
		if g.Shape == Identical {
			for i, id := range ids[1:] {
				j.canonical, j.duplicates, j.status = append(j.canonical, ids[0]), append(j.duplicates, id), append(j.status, statuses[i+1])
			}
		}
		ids, statuses = nil, nil // the next row gets slices of its own
		return nil
	})
	return wrap("find duplicates", err)
}

// each notes every row that a statement finds, in a shape.
func (j *job) each(ctx context.Context, name string, shape Shape) error {
	rows, err := j.tx.Query(ctx, j.sql[name])
	if err != nil {
		return wrap("find rows that are "+string(shape), err)
	}
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		j.report.note(Group{shape, []string{id}}, j.cfg.Examples)
		return nil
	})
	return wrap("find rows that are "+string(shape), err)
}
