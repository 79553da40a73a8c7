package consumerstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/consumers"
)

// Problem is a promise that a handler does not keep.
type Problem struct{ Case, Text string }

// Error makes a problem an error.
func (p Problem) Error() string { return p.Case + ": " + p.Text }

// Run runs the suite, each case as a subtest that fails for each problem.
func Run(t *testing.T, s Subject) {
	t.Helper()
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	for _, name := range Cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range Check(t, s, name) {
				t.Error(p.Text)
			}
		})
	}
}

// Cases are the names of the cases, in their order.
func Cases() []string {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.name
	}
	return names
}

// Check runs one case, or all of them if name is "", and returns the problems. t gets databases and fails only when
// one cannot be opened.
func Check(t testing.TB, s Subject, name string) []Problem {
	t.Helper()
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	s = s.withDefaults()
	var found []Problem
	for _, c := range cases {
		if name != "" && name != c.name {
			continue
		}
		r := &round{Subject: s, ctx: t.Context(), name: c.name, db: s.Open(t)}
		if err := r.begin(); err != nil {
			t.Fatalf("consumerstest: %v", err)
		}
		c.run(r)
		found = append(found, r.problems...)
	}
	return found
}

// round is one case on one database.
type round struct {
	Subject
	ctx      context.Context
	name     string
	db       *pgxpool.Pool
	applier  *consumers.Applier
	problems []Problem
}

func (r *round) begin() (err error) {
	r.Config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	r.applier, err = r.with(r.Handler)
	return err
}

// with makes an applier of another handler, over the same database.
func (r *round) with(h consumers.Handler) (*consumers.Applier, error) {
	return consumers.NewApplier(r.db, h, r.Config)
}

func (r *round) problem(format string, args ...any) {
	r.problems = append(r.problems, Problem{r.name, fmt.Sprintf(format, args...)})
}

// want compares an answer with the outcome that it should have.
func (r *round) want(what string, got consumers.Result, err error, want consumers.Outcome) {
	switch {
	case err != nil:
		r.problem("%s: %v, want %s", what, err, want)
	case got.Outcome != want:
		r.problem("%s: is %s, want %s", what, got.Outcome, want)
	}
}

// wantEffects compares effects and facts with the number that there should be.
func (r *round) wantEffects(want int) {
	effects, err := r.Count(r.ctx, r.db)
	if err != nil {
		r.problem("count effects: %v", err)
		return
	}
	if effects != want {
		r.problem("there are %d effects, want %d", effects, want)
	}
	if known, err := r.facts(); err != nil || known != want {
		r.problem("there are %d facts, want %d (%v)", known, want, err)
	}
}

func (r *round) facts() (n int, err error) {
	err = r.db.QueryRow(r.ctx, "SELECT count(*) FROM "+r.schema()+".consumer_fact").Scan(&n)
	return n, err
}

func (r *round) schema() string {
	if r.Config.Schema == "" {
		return "outbox"
	}
	return r.Config.Schema
}

// exec changes the database behind the handler's back.
func (r *round) exec(sql string) {
	if _, err := r.db.Exec(r.ctx, sql); err != nil {
		r.problem("prepare the case: %v", err)
	}
}

var errCrash = errors.New("consumerstest: the process dies here")
