package rebase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// frozen is the id of an event that every group has drained, where its own would not be visible.
// The ids after it, firstMark and up, stand for sets of groups. No transaction has them:
// those below 100 are gone before a new cluster answers its first query.
const (
	frozen    = 2
	firstMark = 3
	lastMark  = 99
)

// Apply rebases the database in one transaction and returns what it did. Errors that say why
// it did nothing: [ErrNothingToDo], [*LiveLeaseError], or one with a hint, see
// [outbox.Hint], for example when the lock cannot be had. Repeating it is harmless.
func Apply(ctx context.Context, db DB, cfg Config) (*Plan, error) {
	cfg = cfg.withDefaults()
	// Before the lock, which says of a schema that is not there only that a table is not.
	if _, err := checked(ctx, db, cfg.Schema); err != nil {
		return nil, withHint(fmt.Errorf("rebase: %w", err))
	}
	sql := statements(cfg.Schema)
	var plan *Plan
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", max(1, cfg.LockTimeout.Milliseconds()))); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, sql["lock"]); err != nil {
			return fmt.Errorf("lock the log: %w", err)
		}
		if plan, err = read(ctx, tx, cfg.Schema); err != nil {
			return err
		}
		switch {
		case !plan.Needed:
			return ErrNothingToDo
		case len(plan.Live) > 0:
			return &LiveLeaseError{Leases: plan.Live}
		}
		return plan.apply(ctx, tx, sql)
	})
	if err != nil {
		return nil, withHint(fmt.Errorf("rebase: %w", err))
	}
	return plan, nil
}

func (p *Plan) apply(ctx context.Context, tx pgx.Tx, sql map[string]string) error {
	marks, err := p.marks()
	if err != nil {
		return err
	}
	if err := p.place(ctx, tx, sql["place"], marks); err != nil {
		return fmt.Errorf("place the events: %w", err)
	}
	names, cursors := p.cursors(marks)
	if _, err := tx.Exec(ctx, sql["repoint"], names, cursors); err != nil {
		return fmt.Errorf("move the cursors: %w", err)
	}
	if err := p.prove(ctx, tx, sql["prove"]); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sql["advance"], p.Highest+p.Renumbered); err != nil {
		return fmt.Errorf("move the sequence forward: %w", err)
	}
	if err := advanceCounters(ctx, tx, sql["counters"]); err != nil {
		return fmt.Errorf("move the counters forward: %w", err)
	}
	if _, err := tx.Exec(ctx, sql["identify"]); err != nil {
		return fmt.Errorf("write the identity: %w", err)
	}
	return nil
}

// marks gives an id to every set of groups that is not all of a lane, nor none.
func (p *Plan) marks() (map[string]uint64, error) {
	marks := map[string]uint64{}
	for _, s := range p.sets {
		if p.partial(s) && marks[s.name] == 0 {
			marks[s.name] = firstMark + uint64(len(marks))
		}
	}
	if len(marks) > lastMark-firstMark+1 {
		return nil, errors.New("too many relay groups with cursors of their own: delete the lanes of those that nobody runs any more")
	}
	return marks, nil
}

// partial reports whether a set is drained for some groups of its lane and not for others.
func (p *Plan) partial(s set) bool {
	if len(s.groups) == 0 {
		return false
	}
	for _, g := range p.Groups {
		has := slices.ContainsFunc(g.Lanes, func(l Lane) bool { return l.Lane == s.lane })
		if has && !slices.Contains(s.groups, g.Name) {
			return true
		}
	}
	return false
}

func (p *Plan) place(ctx context.Context, tx pgx.Tx, sql string, marks map[string]uint64) error {
	var lanes []int16
	var names, ids []string
	for _, s := range p.sets {
		if p.partial(s) {
			id := strconv.FormatUint(marks[s.name], 10)
			lanes, names, ids = append(lanes, s.lane), append(names, s.name), append(ids, id)
		}
	}
	var base *int64
	if p.Renumbered > 0 {
		base = &p.Highest
	}
	last := strconv.FormatUint(frozen+uint64(len(marks)), 10)
	_, err := tx.Exec(ctx, sql, lanes, names, ids, last, base)
	return err
}

// cursors returns what every group has drained: the snapshot of now without the ids of the
// sets that the group is not in.
func (p *Plan) cursors(marks map[string]uint64) (names, cursors []string) {
	for _, g := range p.Groups {
		var missing []uint64
		for _, s := range p.sets {
			if id := marks[s.name]; id != 0 && !slices.Contains(s.groups, g.Name) {
				missing = append(missing, id)
			}
		}
		names, cursors = append(names, g.Name), append(cursors, p.snapshot.without(missing...).String())
	}
	return names, cursors
}

// prove compares what the new cursors will drain with what the old ones had not.
func (p *Plan) prove(ctx context.Context, tx pgx.Tx, sql string) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return fmt.Errorf("read the new cursors: %w", err)
	}
	type key struct {
		group string
		lane  int16
	}
	found := map[key]int64{}
	var k key
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&k.group, &k.lane, &n}, func() error { found[k] = n; return nil }); err != nil {
		return fmt.Errorf("read the new cursors: %w", err)
	}
	for _, g := range p.Groups {
		for _, l := range g.Lanes {
			if n := found[key{g.Name, l.Lane}]; n != l.Undrained {
				return fmt.Errorf("lane %d of group %s would drain %d events instead of %d: nothing was changed; this is a bug", l.Lane, g.Name, n, l.Undrained)
			}
		}
	}
	return nil
}

// advanceCounters moves the sequences of identity columns forward, never back.
func advanceCounters(ctx context.Context, tx pgx.Tx, sql string) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	type counter struct{ Table, Column, Sequence string } // quoted where it has to be
	counters, err := pgx.CollectRows(rows, pgx.RowToStructByPos[counter])
	if err != nil {
		return err
	}
	for _, c := range counters {
		_, err := tx.Exec(ctx, fmt.Sprintf(`SELECT setval('%[3]s', m.highest)
			  FROM (SELECT max(%[2]s) AS highest FROM %[1]s) AS m CROSS JOIN %[3]s AS s
			 WHERE m.highest > CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END`, c.Table, c.Column, c.Sequence))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Table, err)
		}
	}
	return nil
}
