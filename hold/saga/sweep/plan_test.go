package sweep_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
	"github.com/holdfast-dev/holdfast/outbox"
)

// planned are the candidates of a manifest, with a mark on those that are ambiguous.
func planned(m *sweep.Manifest) (all []string) {
	for _, c := range m.Candidates {
		text := c.ID
		for _, e := range c.Entities {
			text += " " + e.Kind + "/" + e.ID
		}
		if c.Ambiguous {
			text += " ?"
		}
		all = append(all, text)
	}
	return all
}

func TestPlanTakesOrphansThatBearTheMarkAndHaveNoReceipt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1", "a2")
	b.household("b", "b1")
	b.household("half-marked", "c1", "c2")
	b.exec(`UPDATE person SET made_by = NULL WHERE id = 'c2'`)
	b.household("owned", "d1")
	b.exec(`INSERT INTO contract VALUES ('owned')`)
	b.household("live", "e1", "e2") // an operation that is not decided has one of them
	if err := pgx.BeginFunc(t.Context(), b.Pool, func(tx pgx.Tx) error { return touch(t.Context(), tx, b.step(), "live", "e2") }); err != nil {
		t.Fatal(err)
	}
	b.household("new", "f1", "f2")
	b.exec(`UPDATE person SET made_at = now() - interval '23 h' WHERE id = 'f2'`)
	b.household("compensated", "g1") // and left to a person; its receipt was pruned
	b.quarantine("id = 'g1'")

	m := b.plan(b.sweep())
	if diff := cmp.Diff([]string{"a person/a1 person/a2", "b person/b1", "half-marked person/c1 person/c2 ?"}, planned(m)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if m.Covered != 2 || m.Young != 1 || m.More || m.Active != 1 || m.Quiet != 86400 {
		t.Errorf("header is %+v", m.Header)
	}
	m = b.plan(b.sweep(func(c *sweep.Config) { c.Quiet, c.Most = time.Hour, 2 }))
	if len(m.Candidates) != 2 || !m.More {
		t.Errorf("planned %v, more is %v; want two, and more", planned(m), m.More)
	}
	if n := b.service.calls.Load(); n != 0 {
		t.Errorf("planning called the undo %d times", n)
	}
}

// The limit is one of what is planned. What is left out takes no place in it, nor does what lacks the mark take
// that of an orphan which bears it.
func TestWhatIsLeftOutHidesNoOrphan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []string{"a-live", "b-live", "c-new", "d-odd", "e-odd", "y", "z"} {
		b.household(id, id+"-1")
	}
	b.quarantine("household LIKE '%-live'")
	b.exec(`UPDATE person SET made_at = now() WHERE household = 'c-new'; UPDATE person SET made_by = NULL WHERE household LIKE '%-odd'`)
	const y, z, d, e = "y person/y-1", "z person/z-1", "d-odd person/d-odd-1 ?", "e-odd person/e-odd-1 ?"
	for _, c := range []struct {
		most int
		want []string
		more bool
	}{
		{1, []string{y}, true}, {2, []string{y, z}, true}, {3, []string{d, y, z}, true}, {4, []string{d, e, y, z}, false},
	} {
		m := b.plan(b.sweep(func(cfg *sweep.Config) { cfg.Most = c.most }))
		if diff := cmp.Diff(c.want, planned(m)); diff != "" || m.More != c.more || m.Covered != 2 || m.Young != 1 {
			t.Errorf("at most %d: more is %v, %d covered, %d young; planned (-want +got):\n%s", c.most, m.More, m.Covered, m.Young, diff)
		}
	}
}

// More than a page of what is left out, and a candidate that is larger than one.
func TestPlanGoesThroughAllCandidates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`INSERT INTO person (id, household, name, made_by)
	        SELECT 'a-' || i, 'a-' || i, '', 'finalize' FROM generate_series(1, 12000) i
	  UNION ALL SELECT 'b-' || i, 'b', '', 'finalize' FROM generate_series(1, 12000) i
	  UNION ALL SELECT 'c', 'c', '', 'finalize'`)
	b.quarantine("household LIKE 'a-%'")
	m := b.plan(b.sweep())
	if len(m.Candidates) != 2 || len(m.Candidates[0].Entities) != 12000 || m.Candidates[1].ID != "c" || m.Covered != 12000 || m.More {
		t.Errorf("%d are planned, %d covered, more is %v", len(m.Candidates), m.Covered, m.More)
	}
}

// A plan that is full names the parts of a candidate as one that is not.
func TestPartsOfAFullPlanAreThoseThatAreFoundAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1", "a2")
	b.household("b", "b1")
	s := b.sweep(func(c *sweep.Config) {
		c.Most = 1
		c.Candidates = `SELECT o.* FROM (` + orphans + "\n) o, generate_series(1, 2)"
	})
	m := b.plan(s)
	if diff := cmp.Diff([]string{"a person/a1 person/a2"}, planned(m)); diff != "" || !m.More {
		t.Errorf("more is %v; planned (-want +got):\n%s", m.More, diff)
	}
	b.apply(s, m, "a undone")
}

func TestManifestIsReadAsItWasWrittenAndHoldsNoName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1", "a2")
	m := b.plan(b.sweep())
	path := filepath.Join(b.folder, "manifest")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	again, err := sweep.ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, again); diff != "" || again.Seal() != m.Seal() {
		t.Errorf("the manifest that was read differs (-written +read):\n%s", diff)
	}
	if err := m.Write(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it was written over: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if text := b.read(path); strings.Contains(text, secret) {
		t.Errorf("it holds a name:\n%s", text)
	}
}

// Any byte: also one that JSON does not care about.
func TestManifestThatWasTamperedWithIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	s := b.sweep(func(c *sweep.Config) {
		c.Candidates = `SELECT 'a' AS id, true AS marked, '2026-01-01'::timestamptz AS made_at, 'person' AS entity_kind, 'a1' AS entity_id`
	})
	m := b.plan(s)
	path := filepath.Join(b.folder, "manifest")
	if err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	text := b.read(path)
	refused := func(what, text string) {
		t.Helper()
		other := filepath.Join(b.folder, "other")
		b.write(other, text)
		_, err := sweep.ReadManifest(other)
		wantRefusal(t, what, err, sweep.ErrSeal)
	}
	for i := range len(text) - 1 {
		changed := []byte(text)
		changed[i] ^= 1
		refused("a byte", string(changed))
	}
	lines := strings.SplitAfter(text, "\n")
	refused("a line less", lines[0]+lines[2])
	refused("a line more", lines[0]+lines[1]+lines[1]+lines[2])
	refused("a space", lines[0]+strings.Replace(lines[1], ",", ", ", 1)+lines[2])
	refused("no seal", lines[0]+lines[1])
	refused("two seals", text+lines[2])
	refused("empty", "")
	// Sealed anew it is another manifest: whoever reviewed the first has another seal.
	m2 := *m
	m2.Candidates = append(m2.Candidates, sweep.Planned{Candidate: sweep.Candidate{ID: "b", Entities: []sweep.Entity{{Kind: "person", ID: "b1"}}}})
	o := b.order(&m2)
	o.Seal = m.Seal()
	_, err := s.Apply(t.Context(), b.operator, &m2, o)
	wantRefusal(t, "apply", err, sweep.ErrSeal)
	if _, err := os.Stat(b.results()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused run has a results file: %v", err)
	}
	b.erased()
}

func TestCandidatesThatCannotBeUsedAreRefusedWithoutTheirText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.household("a", "a1")
	const columns = `true AS marked, now() - interval '9 d' AS made_at, 'person' AS entity_kind, `
	for name, c := range map[string]struct {
		query string
		want  error
	}{
		"an address":   {`SELECT 'ada@example.org' AS id, ` + columns + `'a1' AS entity_id`, sweep.ErrCandidates},
		"a name":       {`SELECT 'a' AS id, ` + columns + `'Ada Lovelace' AS entity_id`, sweep.ErrCandidates},
		"null":         {`SELECT 'a' AS id, ` + columns + `NULL AS entity_id`, sweep.ErrCandidates},
		"another type": {`SELECT 'a' AS id, 7 AS marked, now() AS made_at, 'person' AS entity_kind, 'a1' AS entity_id`, sweep.ErrCandidates},
		"no column":    {`SELECT 'a' AS id`, nil},
		"two":          {`SELECT 1; SELECT 2`, nil},
		"a failure":    {`SELECT 'a' AS id, ` + columns + `(name::uuid)::text AS entity_id FROM person`, nil},
	} {
		s := b.sweep(func(cfg *sweep.Config) { cfg.Candidates = c.query })
		_, err := s.Plan(t.Context(), b.operator)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "ovelace") || strings.Contains(err.Error(), "@") {
			t.Errorf("%s: error is %v", name, err)
		}
		if name != "a failure" && outbox.Hint(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
}

func TestConfigurationIsJudged(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sweep.Config{
		"candidates": {Undo: &service{}, Candidates: " ; "},
		"undo":       {Candidates: orphans},
		"schema":     {Candidates: orphans, Undo: &service{}, Schema: "no; no"},
		"quiet":      {Candidates: orphans, Undo: &service{}, Quiet: -1},
		"most":       {Candidates: orphans, Undo: &service{}, Most: -1},
		"wait":       {Candidates: orphans, Undo: &service{}, Wait: -1},
	} {
		if _, err := sweep.New(cfg); err == nil || outbox.Hint(err) == "" && name != "schema" {
			t.Errorf("%s: error is %v, want one with a hint", name, err)
		}
	}
	b := setup(t)
	s := b.sweep()
	m := b.plan(s)
	for _, change := range []func(*sweep.Application){
		func(a *sweep.Application) { a.Actor = "" }, func(a *sweep.Application) { a.Reason = "" },
		func(a *sweep.Application) { a.Reason = strings.Repeat("x", 1025) },
	} {
		o := b.order(m)
		change(&o)
		var invalid *outbox.InvalidArgumentError
		if _, err := s.Apply(t.Context(), b.operator, m, o); !errors.As(err, &invalid) {
			t.Errorf("error is %v, want an invalid argument", err)
		}
	}
}

var _ sweep.Undoer = sweep.Statements{}
