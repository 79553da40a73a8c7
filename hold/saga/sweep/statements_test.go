package sweep_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

func TestStatementsOfTheServiceUndo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`CREATE FUNCTION erase(household text, actor text, reason text, OUT outcome text, OUT reason_code text) LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN
		  UPDATE person p SET erased = true, erasures = erasures + 1 WHERE p.household = erase.household;
		  INSERT INTO erasure VALUES (household, actor, reason);
		  outcome := 'undone';
		END $$;
		REVOKE UPDATE ON person FROM ` + b.Name + `_login_operator`)
	for _, c := range []struct{ name, lock, undo, want string }{
		{"by a function", `SELECT pg_advisory_xact_lock(hashtext($1))`, `SELECT outcome, reason_code AS reason FROM erase($1, $2, $3);`, "undone"},
		{"quarantines", `SELECT FROM person WHERE household = $1 -- by its row`, `SELECT 'quarantined' AS outcome, 'shared' AS reason`, "quarantined shared"},
		{"no row", `SELECT 1`, `SELECT 'undone' AS outcome, NULL AS reason WHERE false`, "failed error"},
		{"two rows", `SELECT 1`, `SELECT 'undone' AS outcome, NULL AS reason FROM generate_series(1, 2)`, "failed error"},
		{"another outcome", `SELECT 1`, `SELECT 'gone' AS outcome, NULL AS reason`, "failed error"},
	} {
		b.exec(`DELETE FROM person`)
		b.household(c.name[:1], c.name[:1]+"1")
		s := b.sweep(func(cfg *sweep.Config) { cfg.Undo = sweep.Statements{LockSQL: c.lock, UndoSQL: c.undo} })
		m := b.plan(s)
		if m.Service.Lock == "" || m.Service.Undo == "" {
			t.Errorf("%s: the manifest has no statements: %+v", c.name, m.Service)
		}
		o := b.order(m)
		o.Results += c.name[:2]
		report, err := s.Apply(t.Context(), b.operator, m, o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		b.want(report, c.name[:1]+" "+c.want)
		other := b.sweep(func(cfg *sweep.Config) { cfg.Undo = sweep.Statements{LockSQL: c.lock, UndoSQL: c.undo + " "} })
		if _, err := other.Apply(t.Context(), b.operator, m, o); err != nil {
			t.Errorf("%s: a space at the end made it another: %v", c.name, err)
		}
		other = b.sweep(func(cfg *sweep.Config) { cfg.Undo = sweep.Statements{LockSQL: c.lock, UndoSQL: "SELECT 1"} })
		if _, err := other.Apply(t.Context(), b.operator, m, o); !errors.Is(err, sweep.ErrChanged) {
			t.Errorf("%s: error is %v, want ErrChanged", c.name, err)
		}
	}
	// An UPDATE of its own, with the rights for it.
	b.exec(`GRANT UPDATE ON person TO ` + b.Name + `_login_operator; DELETE FROM person`)
	b.household("z", "z1")
	s := b.sweep(func(cfg *sweep.Config) {
		cfg.Undo = sweep.Statements{LockSQL: `SELECT FROM person WHERE household = $1 FOR UPDATE`,
			UndoSQL: `UPDATE person SET erased = true, erasures = erasures + 1 WHERE household = $1 RETURNING 'undone' AS outcome, NULL AS reason`}
	})
	m := b.plan(s)
	b.apply(s, m, "z undone")
	b.erased("z 1")
}
