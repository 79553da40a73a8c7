package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-dev/holdfast/e2e/harness"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// TestDatabaseScripts runs the command lines of testdata/database. Besides exits, they have:
//
//	database FILE [FILE]  makes databases with all components installed, writes their URLs to the
//	                      files, and sets PGHOST, PGPORT, PGUSER and PGDATABASE for the last one
//	sql FILE STATEMENTS   runs SQL in the database of the file
//	psql FILE SCRIPT      runs a file of SQL there
//	mended FILE ARGS      runs the command, then all SQL of its JSON or text that mends
func TestDatabaseScripts(t *testing.T) {
	t.Parallel()
	pg, err := harness.StartPostgres(t.Context(), harness.PostgresOptions{Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	var made atomic.Int64
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/database",
		RequireUniqueNames: true,
		UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits,
			"database": func(ts *testscript.TestScript, _ bool, files []string) {
				for _, file := range files {
					name := fmt.Sprintf("generated_%d", made.Add(1))
					ts.Check(makeDatabase(pg, name))
					u, err := url.Parse(pg.URL(name))
					ts.Check(err)
					ts.Check(os.WriteFile(ts.MkAbs(file), []byte("# "+file+"\n\n"+u.String()+"\n"), 0o644))
					ts.Setenv("PGHOST", u.Hostname())
					ts.Setenv("PGPORT", u.Port())
					ts.Setenv("PGUSER", u.User.Username())
					ts.Setenv("PGDATABASE", name)
				}
			},
			"sql": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(runSQL(ts.ReadFile(args[0]), args[1]))
			},
			"psql": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(runSQL(ts.ReadFile(args[0]), ts.ReadFile(args[1])))
			},
			"mended": func(ts *testscript.TestScript, _ bool, args []string) {
				run(ts, args[1:])
				ts.Check(runSQL(ts.ReadFile(args[0]), mends(ts.ReadFile("stdout"))))
			},
		},
	})
}

func makeDatabase(pg *harness.Postgres, name string) error {
	ctx := context.Background()
	if err := pg.CreateDatabase(ctx, name, ""); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, pg.URL(name))
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // what it did is committed
	return gen.Install(ctx, conn, canonical.DefaultParams(), canonical.Components()...)
}

// runSQL runs SQL in the database whose URL a file has.
func runSQL(file, sql string) error {
	lines := strings.Fields(file)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, lines[len(lines)-1])
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // what it did is committed
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// mends collects the SQL of a text report.
func mends(text string) string {
	var sql strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		one, found := strings.CutPrefix(line, "  mend: ")
		switch {
		case found:
			sql.WriteString(one)
			inside = false
		case line == "  mend:\n":
			inside = true
		case inside && strings.HasPrefix(line, "    "):
			sql.WriteString(strings.TrimPrefix(line, "    "))
		default:
			inside = false
		}
	}
	return sql.String()
}
