package call

import "strings"

// Statement returns the text of an embedded file for a database schema, whose name must
// be valid. Its comments are left out: they would travel with every call.
func Statement(schema, file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "{{.Schema}}", schema)
}
