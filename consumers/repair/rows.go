package repair

import (
	"context"
	"fmt"
)

// ledger writes down each row that goes, or is superseded, as it is.
func (j *job) ledger(ctx context.Context) error {
	_, err := j.all(ctx, "write the ledger", "ledger", j.canonical, j.duplicates, j.status, j.t.Table, j.cfg.told())
	return err
}

func (j *job) repair(ctx context.Context) (err error) {
	if len(j.duplicates) == 0 {
		return nil
	}
	if j.t.Marker == "" {
		j.report.Removed, err = j.all(ctx, "remove duplicates", "remove", j.duplicates)
		return err
	}
	if j.report.Reversals, err = j.all(ctx, "write reversals", "reverse", j.duplicates, j.t.Table); err != nil {
		return err
	}
	j.report.Superseded, err = j.all(ctx, "mark duplicates", "supersede", j.duplicates)
	return err
}

// all runs a statement that must do something for each duplicate.
func (j *job) all(ctx context.Context, what, name string, args ...any) (int64, error) {
	done, err := j.tx.Exec(ctx, j.sql[name], args...)
	if err != nil {
		return 0, wrap(what, err)
	}
	if n := done.RowsAffected(); n != int64(len(j.duplicates)) {
		return n, &AssertionError{fmt.Sprintf("%s: it changed %d rows, and %d are duplicates", what, n, len(j.duplicates))}
	}
	return done.RowsAffected(), nil
}

// facts gives each effect that counts its fact, so that a redelivery of what it tells is known. A fact that
// is there already is taken when it says the same and has no other effect.
func (j *job) facts(ctx context.Context) error {
	if _, err := j.tx.Exec(ctx, j.sql["claim_facts"], j.t.Table); err != nil {
		return wrap("claim facts", err)
	}
	done, err := j.tx.Exec(ctx, j.sql["link_facts"])
	if err != nil {
		return wrap("link facts", err)
	}
	j.report.Facts = done.RowsAffected()
	if err := j.each(ctx, "unlinked", Unlinked); err != nil {
		return err
	}
	return j.refuse()
}

func (j *job) assert(ctx context.Context) error {
	var collisions int64
	if err := j.tx.QueryRow(ctx, j.sql["collisions"]).Scan(&collisions); err != nil {
		return wrap("look for collisions", err)
	}
	if collisions > 0 {
		return &AssertionError{fmt.Sprintf("%d keys have more than one row still", collisions)}
	}
	return nil
}
