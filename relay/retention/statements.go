package retention

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of this package by the names of their files, with the database
// schema filled in.
func statements(schema string) map[string]string {
	files, err := sqlFiles.ReadDir("sql")
	if err != nil {
		panic("retention: no statement is embedded") // a build without its files
	}
	texts := map[string]string{}
	for _, f := range files {
		text, err := sqlFiles.ReadFile("sql/" + f.Name())
		if err != nil {
			panic("retention: " + f.Name() + " is not embedded")
		}
		texts[strings.TrimSuffix(f.Name(), ".sql")] = strings.ReplaceAll(string(text), "{{schema}}", schema)
	}
	return texts
}
