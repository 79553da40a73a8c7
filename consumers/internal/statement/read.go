package statement

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var plain = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// ValidSchema reports whether a name can stand for a database schema without quotes.
func ValidSchema(name string) bool { return plain.MatchString(name) && !strings.HasPrefix(name, "pg_") }

// Read returns the texts of sql/*.sql by the names of the files, without the ending, for a schema
// that is valid. It panics when there is none: that is a build without its files.
func Read(files fs.FS, schema string) map[string]string {
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil || len(names) == 0 {
		panic("statement: none is embedded")
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic("statement: " + name + " is not embedded")
		}
		texts[strings.TrimSuffix(path.Base(name), ".sql")] = strings.ReplaceAll(string(text), "{{schema}}", schema)
	}
	return texts
}
