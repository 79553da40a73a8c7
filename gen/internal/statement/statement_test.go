package statement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/gen/internal/statement"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want []string
	}{
		"nothing":             {"  -- a comment; only\n/* ; */ ;;", nil},
		"two":                 {"SELECT 1; SELECT 2", []string{"SELECT 1;", "SELECT 2"}},
		"string":              {"SELECT ';', 'it''s;'; SELECT 2;", []string{"SELECT ';', 'it''s;';", "SELECT 2;"}},
		"escape string":       {`SELECT E'\';'; SELECT '\'; SELECT 3;`, []string{`SELECT E'\';';`, `SELECT '\';`, "SELECT 3;"}},
		"quoted identifier":   {`SELECT ";"";"; SELECT 2;`, []string{`SELECT ";"";";`, "SELECT 2;"}},
		"comments":            {"SELECT 1 -- ;\n + 1; /* ; /* ; */ ; */ SELECT 2;", []string{"SELECT 1 -- ;\n + 1;", "SELECT 2;"}},
		"dollar quotes":       {"DO $$ BEGIN; END $$; SELECT $a$ $$; $b$ $a$;", []string{"DO $$ BEGIN; END $$;", "SELECT $a$ $$; $b$ $a$;"}},
		"a parameter is none": {"SELECT $1; SELECT a$b$; SELECT $2;", []string{"SELECT $1;", "SELECT a$b$;", "SELECT $2;"}},
		"rule with a list":    {"CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2); SELECT 3;", []string{"CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2);", "SELECT 3;"}},
		"never closed":        {"SELECT 'abc; SELECT 2;", []string{"SELECT 'abc; SELECT 2;"}},
		"never closed dollar": {"DO $x$ abc;", []string{"DO $x$ abc;"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range statement.Split(c.sql) {
				got = append(got, c.sql[s.Start:s.End])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"CREATE TABLE a.b (c int REFERENCES d.e)":                     "a.b",
		"create unlogged table if not exists \"A\".\"b\"\"c\" ()":     "A.b\"c",
		"CREATE TABLE x.p PARTITION OF a.b FOR VALUES IN (1)":         "x.p a.b",
		"CREATE OR REPLACE FUNCTION A.F(x int) RETURNS void AS $$ $$": "a.f",
		"DROP FUNCTION IF EXISTS a.f(int, text), a.g() CASCADE":       "a.f a.g",
		"DROP TABLE a, b.c": ".a b.c",
		"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON ONLY a.b (c)": "a.b a.i",
		"CREATE INDEX ON a.b (c)": "a.b",
		"DROP INDEX a.i":          "a.i",
		"CREATE CONSTRAINT TRIGGER t AFTER INSERT OR UPDATE OF c ON a.b EXECUTE": "a.b",
		"CREATE RULE r AS ON DELETE TO a.b DO NOTHING":                           ".delete a.b",
		"ALTER TABLE ONLY a.b ADD COLUMN c int":                                  "a.b",
		"ALTER TABLE a.b OWNER TO me":                                            "",
		"GRANT SELECT ON a.b TO me":                                              "",
		"INSERT INTO a.b VALUES ('CREATE TABLE a.c')":                            "",
		"-- CREATE TABLE a.b ()":                                                 "",
		"COMMENT ON TABLE a.b IS 'x'":                                            "",
		"DO $$ BEGIN IF true THEN CREATE TABLE a.b (); END IF; END $$":           "a.b",
		"CREATE EXTENSION x":                                                     "",
		"CREATE":                                                                 "",
		"CREATE TABLE":                                                           "",
	} {
		var got []string
		for _, target := range statement.Targets(sql) {
			got = append(got, target.Schema+"."+target.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s\n got %q\nwant %q", sql, s, want)
		}
	}
}

// Cutting must lose nothing that runs: between the statements of the canonical files there
// are only comments.
func TestSplitCanonical(t *testing.T) {
	t.Parallel()
	plan, err := canonical.Plan(canonical.Params{}, canonical.Components()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range plan {
		at := 0
		for _, s := range statement.Split(file.SQL) {
			if !s.Closed {
				t.Errorf("%s: statement %q has no semicolon", file.Component, file.SQL[s.Start:s.End])
			}
			for _, token := range statement.Tokens(file.SQL[at:s.Start]) {
				if token.Kind != statement.Comment {
					t.Errorf("%s: %q is in no statement", file.Component, token.Text)
				}
			}
			at = s.End
		}
		if rest := strings.TrimSpace(file.SQL[at:]); rest != "" {
			t.Errorf("%s: %q is in no statement", file.Component, rest)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SELECT 1; -- x\nDO $a$ ; $a$; E'\\'' /* /* */")
	f.Fuzz(func(t *testing.T, sql string) {
		at := 0
		for _, s := range statement.Split(sql) {
			if s.Start < at || s.End <= s.Start || s.End > len(sql) {
				t.Fatalf("statement %d to %d after %d in %q", s.Start, s.End, at, sql)
			}
			at = s.End
		}
		statement.Targets(sql)
	})
}
