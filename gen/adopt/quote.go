package adopt

import "strings"

// ident writes a name so that Postgres takes it as it is.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal writes a text as a constant, whatever standard_conforming_strings says.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// array writes texts as a constant.
func array(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = literal(text)
	}
	return "ARRAY[" + strings.Join(quoted, ", ") + "]::text[]"
}

// columnsOf writes columns of the row that is called o.
func columnsOf(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "o." + ident(name)
	}
	return strings.Join(quoted, ", ")
}
