package check

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statement returns the SQL of a file with the database schema filled in. Callers have checked
// the name of the schema.
func statement(name, schema string) string {
	text, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic("check: " + name + ".sql is not embedded") // a build without its files
	}
	return strings.ReplaceAll(string(text), "{{schema}}", schema)
}
