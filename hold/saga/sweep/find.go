package sweep

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold"
)

// found is a candidate as the query shows it now.
type found struct {
	Candidate
	marked, young bool // marked in every part, young in one
}

// plainID is what an id may be made of: neither a name nor an address of a person looks like it.
var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$`)

// find asks the service's query for one candidate, and returns nil when it is none.
func (s *Sweep) find(ctx context.Context, db hold.DB, id string) (*found, error) {
	rows, err := db.Query(ctx, s.candidates, &id, s.cfg.Quiet.Seconds())
	if err != nil {
		return nil, explain(err)
	}
	all, err := gather(rows)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	all[0].order()
	return &all[0], nil
}

// walk asks the service's query once for all candidates, and gives them to take a page at a time until it has
// enough of them.
func (s *Sweep) walk(ctx context.Context, tx pgx.Tx, take func(page []found) (enough bool, err error)) error {
	var all *string // and not one
	if _, err := tx.Exec(ctx, s.all, all, s.cfg.Quiet.Seconds()); err != nil {
		return explain(err)
	}
	var last []found // one at most, which may go on in the next page
	for {
		// The columns are those of this query, and not of one that this connection has seen before.
		rows, err := tx.Query(ctx, s.page, pgx.QueryExecModeDescribeExec)
		if err != nil {
			return explain(err)
		}
		next, err := gather(rows)
		if err != nil {
			return err
		}
		ends := len(next) == 0
		for _, f := range next {
			last = join(last, f)
		}
		page := last
		if !ends {
			page, last = last[:len(last)-1], last[len(last)-1:]
		}
		for i := range page {
			page[i].order()
		}
		if enough, err := take(page); err != nil || enough || ends {
			return err
		}
	}
}

// gather reads rows to their end.
func gather(rows pgx.Rows) (all []found, err error) {
	defer rows.Close()
	for rows.Next() {
		part, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = join(all, part)
	}
	return all, explain(rows.Err())
}

// read takes one row: a candidate with one of its entities.
func read(rows pgx.Rows) (found, error) {
	var row found
	var marked, young *bool
	var madeAt *time.Time
	var id, kind, entity *string
	if err := rows.Scan(&id, &marked, &madeAt, &kind, &entity, &young); err != nil {
		return row, refuse(ErrCandidates, candidatesHint, "a column has another type")
	}
	if id == nil || madeAt == nil || kind == nil || entity == nil {
		return row, refuse(ErrCandidates, candidatesHint, "a column is null")
	}
	if !plainID.MatchString(*id) || !plainID.MatchString(*kind) || !plainID.MatchString(*entity) {
		return row, refuse(ErrCandidates, candidatesHint, "an id has other signs than letters, digits and . _ : -")
	}
	row.ID, row.MadeAt, row.Entities = *id, madeAt.UTC(), []Entity{{*kind, *entity}}
	row.marked, row.young = marked != nil && *marked, *young
	return row, nil
}

const candidatesHint = "It returns id, marked, made_at, entity_kind and entity_id, none of them null but the mark, and no personal data."

// join adds a part to the last candidate, or as the next one. Parts of one candidate follow each other.
func join(all []found, part found) []found {
	if n := len(all); n > 0 && all[n-1].ID == part.ID {
		all[n-1].add(part)
		return all
	}
	return append(all, part)
}

// add joins another part of the same candidate: it is as young as its youngest, and marked if all are.
func (f *found) add(part found) {
	f.Entities = append(f.Entities, part.Entities...)
	f.marked, f.young = f.marked && part.marked, f.young || part.young
	if part.MadeAt.After(f.MadeAt) {
		f.MadeAt = part.MadeAt
	}
}

// order makes two lists of the same entities equal.
func (f *found) order() {
	slices.SortFunc(f.Entities, func(a, b Entity) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	f.Entities = slices.Compact(f.Entities)
}

// same reports whether two candidates are one, made of the same.
func (c Candidate) same(other Candidate) bool {
	return c.ID == other.ID && c.MadeAt.Equal(other.MadeAt) && slices.Equal(c.Entities, other.Entities)
}

// isCovered returns the entities that a receipt covers, of all that are named.
func (s *Sweep) isCovered(ctx context.Context, db hold.DB, entities []Entity) (map[Entity]bool, error) {
	kinds, ids := make([]string, len(entities)), make([]string, len(entities))
	for i, e := range entities {
		kinds[i], ids[i] = e.Kind, e.ID
	}
	rows, err := db.Query(ctx, s.covered, kinds, ids)
	if err != nil {
		return nil, explain(err)
	}
	covered := map[Entity]bool{}
	var e Entity
	if _, err = pgx.ForEachRow(rows, []any{&e.Kind, &e.ID}, func() error { covered[e] = true; return nil }); err != nil {
		return nil, explain(err)
	}
	return covered, nil
}

func anyOf(covered map[Entity]bool, entities []Entity) bool {
	return slices.ContainsFunc(entities, func(e Entity) bool { return covered[e] })
}

// session is the database that is asked, and who asks it.
type session struct {
	Database
	now                      time.Time
	superuser, owner, stages bool
}

func (s *Sweep) ask(ctx context.Context, db hold.DB) (session, error) {
	found := session{Database: Database{Schema: s.cfg.Schema}}
	rows, err := db.Query(ctx, s.session)
	if err != nil {
		return found, explain(err)
	}
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&found.Cluster, &found.OID, &found.Name, &found.now, &found.superuser, &found.owner, &found.stages},
		func() error { n++; return nil })
	if err == nil && n != 1 {
		err = fmt.Errorf("schema %s: %w", s.cfg.Schema, pgx.ErrNoRows)
	}
	found.now = found.now.UTC()
	return found, explain(err)
}

// mayAct wants a login of its own.
func (s session) mayAct() error {
	const hint = "Make a login for the sweep: a member of the role operator (`outbox-gen roles`), with the right to call what the service gave, and of no other role."
	switch {
	case s.superuser:
		return refuse(ErrRole, hint, "it is a superuser")
	case s.owner:
		return refuse(ErrRole, hint, "it owns the schema")
	case s.stages:
		return refuse(ErrRole, hint, "it stages events, as the service itself does")
	}
	return nil
}
