package repair

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// An event of a row that goes is removed with it, if it is proven that no relay has it: see kept.sql. A lane
// without an owner was left clean; one whose owner died may have left something in the stream. Anything
// else may be published, and then a person decides; a row of which the log has no event too: it may have left
// long ago, and been pruned.

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
	kept := map[string]bool{} // by duplicate: whether no relay has any event of it
	var duplicate string
	var here bool
	_, err = pgx.ForEachRow(rows, []any{&duplicate, &here}, func() error {
		before, found := kept[duplicate]
		kept[duplicate] = here && (before || !found)
		if here {
			j.report.Events++
		}
		return nil
	})
	for _, duplicate := range j.duplicates {
		if !kept[duplicate] {
			j.report.note(Group{Published, []string{stays[duplicate], duplicate}}, j.cfg.Examples)
		}
	}
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
