package sqltext

import (
	"io/fs"
	"path"
	"strings"
)

// Read returns the texts of sql/*.sql by the names of the files, without the ending. It panics
// when there is none: that is a build without its files.
func Read(files fs.FS) map[string]string {
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil || len(names) == 0 {
		panic("sqltext: no statement is embedded")
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic("sqltext: " + name + " is not embedded")
		}
		texts[strings.TrimSuffix(path.Base(name), ".sql")] = string(text)
	}
	return texts
}

// Fill replaces a placeholder in every text.
func Fill(texts map[string]string, placeholder, value string) {
	for name, text := range texts {
		texts[name] = strings.ReplaceAll(text, placeholder, value)
	}
}
