package repair

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// An event of a row that goes is removed with it, if it is proven that no relay has it: see kept.sql. A lane
// without an owner was left clean; one whose owner died may have left something in the stream. Anything
// else may be published, and then a person decides.

// planEvents counts them, and finds groups of which one has left.
func (j *job) planEvents(ctx context.Context) error {
	if len(j.t.Events) == 0 || len(j.duplicates) == 0 {
		return nil
	}
	rows, err := j.tx.Query(ctx, j.sql["find_events"], j.duplicates)
	if err != nil {
		return wrap("find events", err)
	}
	stays := map[string]string{}
	for i, id := range j.duplicates {
		stays[id] = j.canonical[i]
	}
	named := map[string]bool{}
	var duplicate string
	var kept bool
	_, err = pgx.ForEachRow(rows, []any{&duplicate, &kept}, func() error {
		if kept {
			j.report.Events++
		} else if !named[duplicate] {
			named[duplicate] = true
			j.report.note(Group{Published, []string{stays[duplicate], duplicate}}, j.cfg.Examples)
		}
		return nil
	})
	return wrap("find events", err)
}

func (j *job) removeEvents(ctx context.Context) error {
	if len(j.t.Events) == 0 || len(j.duplicates) == 0 {
		return nil
	}
	done, err := j.tx.Exec(ctx, j.sql["remove_events"], j.duplicates)
	if err != nil {
		return wrap("remove events", err)
	}
	if done.RowsAffected() != j.report.Events {
		return &AssertionError{fmt.Sprintf("%d events were removed, and %d were planned", done.RowsAffected(), j.report.Events)}
	}
	return nil
}
