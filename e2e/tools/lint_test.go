package tools_test

import (
	"strings"
	"testing"

	"ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/postgres"
	_ "ariga.io/atlas/sql/postgres/postgrescheck"
	"ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqlcheck"
	"ariga.io/atlas/sql/sqlclient"

	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/outbox/outboxtest"
)

// findings collects what the analyzers of atlas report.
type findings struct{ all []string }

func (f *findings) WriteReport(r sqlcheck.Report) {
	for _, d := range r.Diagnostics {
		f.all = append(f.all, d.Code+" "+d.Text)
	}
}

// TestAtlasLint runs every analyzer that atlas has for Postgres over the files, statement by
// statement, as atlas migrate lint does: a service that lints its migrations must not be
// told to change ours.
func TestAtlasLint(t *testing.T) {
	t.Parallel()
	dir, db := service(t, runner{tool: gen.Atlas}), outboxtest.NewEmptyDatabase(t)
	url, err := plainly(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := sqlclient.Open(t.Context(), url.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}()
	analyzers, err := sqlcheck.AnalyzerFor(postgres.DriverName, nil)
	if err != nil || len(analyzers) == 0 {
		t.Fatalf("%d analyzers, %v", len(analyzers), err)
	}
	folder, err := migrate.NewLocalDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := folder.Files()
	if err != nil {
		t.Fatal(err)
	}
	var found findings
	seen := 0
	for _, file := range files {
		analysed := replay(t, dev, file)
		for _, change := range analysed.Changes {
			seen += len(change.Changes)
		}
		for _, a := range analyzers {
			if err := a.Analyze(t.Context(), &sqlcheck.Pass{File: analysed, Dev: dev, Reporter: &found}); err != nil {
				t.Fatalf("%s: %v", file.Name(), err)
			}
		}
	}
	if len(found.all) > 0 {
		t.Errorf("atlas lint reports:\n%s", strings.Join(found.all, "\n"))
	}
	if seen < 10 {
		t.Errorf("the analyzers saw %d changes only", seen)
	}
}

// replay runs a file and notes what each statement changes.
func replay(t *testing.T, dev *sqlclient.Client, file migrate.File) *sqlcheck.File {
	t.Helper()
	inspect := func() *schema.Realm {
		realm, err := dev.InspectRealm(t.Context(), nil)
		if err != nil {
			t.Fatalf("inspect: %v", err)
		}
		return realm
	}
	statements, err := migrate.FileStmtDecls(dev.Driver, file)
	if err != nil {
		t.Fatalf("%s: %v", file.Name(), err)
	}
	analysed := &sqlcheck.File{File: file, From: inspect()}
	current := analysed.From
	for _, s := range statements {
		if _, err := dev.ExecContext(t.Context(), s.Text); err != nil {
			t.Fatalf("%s: %v\n%s", file.Name(), err, s.Text)
		}
		next := inspect()
		changes, err := dev.RealmDiff(current, next)
		if err != nil {
			t.Fatalf("compare: %v", err)
		}
		analysed.Changes = append(analysed.Changes, &sqlcheck.Change{Changes: changes, Stmt: s})
		current = next
	}
	analysed.To = current
	if analysed.Sum, err = dev.RealmDiff(analysed.From, analysed.To); err != nil {
		t.Fatalf("compare: %v", err)
	}
	return analysed
}
