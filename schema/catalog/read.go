package catalog

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Live is what a server says about one database schema.
type Live struct {
	Schema string
	Major  int // version of the server, such as 15

	facts facts
}

//go:embed sql/*.sql
var statements embed.FS

// parts of the statement that reads a catalog, in the order of their output.
var parts = []string{
	"schema", "domains", "tables", "options", "partitions", "columns", "constraints", "references", "indexes",
	"triggers", "policies", "sequences", "functions", "views", "rights",
}

var (
	settingsSQL = statement("settings")
	readSQL     = readStatement()
)

// Read reads what a database schema has under our names, and what hangs on that. A schema
// that is not there is an empty catalog, in which [Compare] finds everything missing.
func Read(ctx context.Context, db DB, schema string) (*Live, error) {
	if !canonical.ValidIdentifier(schema) {
		return nil, fmt.Errorf("read catalog: %q is not the name of a database schema", schema)
	}
	ours, err := everyName()
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	session, err := begin(ctx, db, reading)
	if err != nil {
		return nil, fmt.Errorf("read catalog of schema %s: begin: %w", schema, err)
	}
	defer session.end(ctx)
	live, err := read(ctx, session.conn, schema, ours)
	if err != nil {
		return nil, fmt.Errorf("read catalog of schema %s: %w", schema, err)
	}
	return live, nil
}

// read reads in a transaction what has one of the names, of which nil ones mean everything.
func read(ctx context.Context, conn *pgx.Conn, schema string, of names) (*Live, error) {
	live := &Live{Schema: schema, facts: facts{}}
	if err := conn.QueryRow(ctx, settingsSQL).Scan(&live.Major); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	rows, err := conn.Query(ctx, readSQL, schema, of.relations, of.functions, of.domains)
	if err != nil {
		return nil, err
	}
	var kind, table, name, property, value string
	_, err = pgx.ForEachRow(rows, []any{&kind, &table, &name, &property, &value}, func() error {
		live.facts.add(newObject(kind, table, name), property, value)
		return nil
	})
	return live, err
}

// names are what reading looks at.
type names struct{ relations, functions, domains []string }

// everyName returns the names that any canonical schema may have.
func everyName() (names, error) {
	ours, err := known()
	if err != nil {
		return names{}, err
	}
	var all names
	for o := range ours.facts {
		switch o.Kind {
		case kindTable, kindView, kindSequence:
			all.relations = append(all.relations, o.Name)
		case kindFunction:
			all.functions = append(all.functions, functionName(o.Name))
		case kindDomain:
			all.domains = append(all.domains, o.Name)
		}
	}
	return all, nil
}

// functionName returns a function's name without its arguments.
func functionName(signature string) string {
	name, _, _ := strings.Cut(signature, "(")
	return name
}

// statement returns an embedded statement without its comments, which would travel with
// every call.
func statement(name string) string {
	text, _ := statements.ReadFile("sql/" + name + ".sql") // embedded, and a test runs each
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

func readStatement() string {
	selects := make([]string, len(parts))
	for i, part := range parts {
		selects[i] = statement(part)
	}
	return statement("ours") + "\n" + strings.Join(selects, "\nUNION ALL\n")
}
