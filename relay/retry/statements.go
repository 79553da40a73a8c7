package retry

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements returns the SQL of this package by file name, with the database schema filled in.
func statements(schema string) map[string]string {
	entries, err := sqlFiles.ReadDir("sql")
	if err != nil {
		panic("retry: sql is not embedded") // a build without its files
	}
	all := make(map[string]string, len(entries))
	for _, e := range entries {
		text, err := sqlFiles.ReadFile("sql/" + e.Name())
		if err != nil {
			panic("retry: " + e.Name() + " is not embedded")
		}
		all[strings.TrimSuffix(e.Name(), ".sql")] = strings.ReplaceAll(string(text), "{{schema}}", schema)
	}
	return all
}
