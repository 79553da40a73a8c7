package sweep_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/hold"
	"github.com/holdfast-dev/holdfast/hold/receipt"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// waitLimit bounds every wait for another connection.
const waitLimit = 90 * time.Second

// secret is what nobody may see who sweeps.
const secret = "Ada-Lovelace"

// orphans is the service's query: a household is an orphan when it has no contract, and was made by
// the flow when each of its persons says so.
const orphans = `SELECT p.household AS id, p.made_by = 'finalize' AS marked, p.made_at, 'person' AS entity_kind, p.id AS entity_id
  FROM person p
 WHERE NOT p.erased AND NOT EXISTS (SELECT FROM contract c WHERE c.household = p.household)
   AND ($1::text IS NULL OR p.household = $1::text) -- which finds one by its index`

// bundle is a participant's database, and the login of who sweeps it.
type bundle struct {
	*outboxtest.Database
	t        *testing.T
	operator *pgxpool.Pool
	service  *service
	folder   string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Database: outboxtest.NewDatabase(t), t: t, service: &service{}, folder: t.TempDir()}
	b.exec(`CREATE TABLE person (id text PRIMARY KEY, household text NOT NULL, name text NOT NULL, made_by text, erased boolean NOT NULL DEFAULT false,
	          erasures integer NOT NULL DEFAULT 0, made_at timestamptz NOT NULL DEFAULT now() - interval '30 d');
	        CREATE TABLE contract (household text PRIMARY KEY);
	        CREATE TABLE erasure (household text, actor text, reason text)`)
	b.operator = b.login(canonical.Operator)
	return b
}

// login makes a login with one role, which may look at persons and erase them.
func (b *bundle) login(role canonical.Role) *pgxpool.Pool {
	b.t.Helper()
	names := gen.RoleNames{}
	for _, r := range canonical.Roles() {
		names[r] = b.Name + "_" + string(r)
	}
	sql, err := gen.Roles(canonical.DefaultParams(), names)
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec(sql)
	name := b.Name + "_login_" + string(role)
	b.exec(`CREATE ROLE ` + name + ` LOGIN IN ROLE ` + names[role] + `;
	        GRANT SELECT, UPDATE ON person TO ` + name + `; GRANT SELECT ON contract TO ` + name + `; GRANT INSERT ON erasure TO ` + name)
	return b.connect(name)
}

func (b *bundle) connect(name string) *pgxpool.Pool {
	b.t.Helper()
	u, err := url.Parse(b.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	u.User = url.User(name)
	return outboxtest.NewPool(b.t, u.String())
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	outboxtest.Exec(b.t, b.Pool, sql, args...)
}

// household makes one with a person for each name, as the flow does it.
func (b *bundle) household(id string, persons ...string) {
	b.t.Helper()
	for _, p := range persons {
		b.exec(`INSERT INTO person (id, household, name, made_by) VALUES ($1, $2, $3, 'finalize')`, p, id, secret)
	}
}

// quarantine is what compensation does with persons that it leaves intact.
func (b *bundle) quarantine(where string) {
	b.t.Helper()
	b.exec(`INSERT INTO outbox.hold_quarantine (operation_id, generation, step_key, entity_kind, stable_id, reason)
	        SELECT gen_random_uuid(), 1, 'x', 'person', id, 'shared' FROM person WHERE ` + where)
}

func (b *bundle) sweep(change ...func(*sweep.Config)) *sweep.Sweep {
	b.t.Helper()
	cfg := sweep.Config{Candidates: orphans, Undo: b.service}
	for _, f := range change {
		f(&cfg)
	}
	s, err := sweep.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bundle) plan(s *sweep.Sweep) *sweep.Manifest {
	b.t.Helper()
	m, err := s.Plan(b.t.Context(), b.operator)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

func (b *bundle) results() string { return filepath.Join(b.folder, "results") }

// order is to apply a manifest, by one who has reviewed it.
func (b *bundle) order(m *sweep.Manifest) sweep.Application {
	return sweep.Application{Order: sweep.Order{Actor: "alice", Reason: "left from before receipts"}, Seal: m.Seal(), Results: b.results()}
}

// apply wants these outcomes of all candidates, "id outcome why".
func (b *bundle) apply(s *sweep.Sweep, m *sweep.Manifest, want ...string) *sweep.Report {
	b.t.Helper()
	report, err := s.Apply(b.t.Context(), b.operator, m, b.order(m))
	if err != nil {
		b.t.Fatalf("apply: %v", err)
	}
	b.want(report, want...)
	return report
}

func (b *bundle) want(report *sweep.Report, want ...string) {
	b.t.Helper()
	var got []string
	for _, r := range report.Results {
		got = append(got, strings.TrimSpace(r.ID+" "+string(r.Outcome)+" "+r.Why))
	}
	for _, id := range report.Pending {
		got = append(got, id+" pending")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// erased wants each household to have been erased so often, "id times", those that never were left out.
func (b *bundle) erased(want ...string) {
	b.t.Helper()
	rows, err := b.Pool.Query(b.t.Context(), `SELECT household || ' ' || max(erasures) FROM person WHERE erasures > 0 GROUP BY household ORDER BY household`)
	if err != nil {
		b.t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, equateEmpty); diff != "" {
		b.t.Errorf("erased (-want +got):\n%s", diff)
	}
}

var equateEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Comparer(func(_, _ []string) bool { return true }))

func (b *bundle) read(path string) string {
	b.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bundle) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// step is one of an operation that has just begun.
func (b *bundle) step() receipt.Step {
	b.t.Helper()
	h := outbox.Hold{Operation: uuid.New(), Generation: 1}
	if _, err := hold.Register(b.t.Context(), b.Pool, h, "orders"); err != nil {
		b.t.Fatal(err)
	}
	key, err := receipt.ParseStepKey("person")
	if err != nil {
		b.t.Fatal(err)
	}
	return receipt.Step{Operation: h.Operation, Generation: h.Generation, Key: key, EntityKind: "person", BodyDigest: make([]byte, 32)}
}

// touch is what an operation does with a person that exists: it takes it over, with a receipt. The lock
// comes first, as everybody takes it.
func touch(ctx context.Context, tx pgx.Tx, step receipt.Step, household, person string) error {
	_, err := receipt.Do(ctx, tx, step, func(tx pgx.Tx) (string, error) {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, household)
		return person, err
	})
	return err
}

// service undoes households, under the advisory lock that its writers take.
type service struct {
	calls atomic.Int64
	// under is called under the lock, before the erasure; nothing by default.
	under func(ctx context.Context, tx pgx.Tx, c sweep.Candidate) error
	// fate is the answer if it is set: then nothing is erased.
	fate func(c sweep.Candidate) hold.Fate
}

func (s *service) Lock(ctx context.Context, tx pgx.Tx, c sweep.Candidate) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, c.ID)
	return err
}

func (s *service) Undo(ctx context.Context, tx pgx.Tx, c sweep.Candidate, by sweep.Order) (hold.Fate, error) {
	s.calls.Add(1)
	if s.under != nil {
		if err := s.under(ctx, tx, c); err != nil {
			return hold.Fate{}, err
		}
	}
	if s.fate != nil {
		return s.fate(c), nil
	}
	if _, err := tx.Exec(ctx, `INSERT INTO erasure VALUES ($1, $2, $3)`, c.ID, by.Actor, by.Reason); err != nil {
		return hold.Fate{}, err
	}
	for _, e := range c.Entities {
		if _, err := tx.Exec(ctx, `UPDATE person SET erased = true, erasures = erasures + 1 WHERE id = $1`, e.ID); err != nil {
			return hold.Fate{}, err
		}
	}
	return hold.Undone(), nil
}
