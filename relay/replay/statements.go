package replay

import (
	"embed"
	"strings"

	"github.com/holdfast-dev/holdfast/relay/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the SQL of this package by the names of their files, with the database
// schema filled in.
func statements(schema string) map[string]string {
	texts := sqltext.Read(sqlFiles)
	ready := strings.TrimSpace(texts["ready"])
	delete(texts, "ready") // a condition of others, and no statement
	sqltext.Fill(texts, "{{ready}}", ready)
	sqltext.Fill(texts, "{{schema}}", schema)
	return texts
}
