package tool

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/gen/internal/statement"
)

var goose = Tool{
	Name:     "goose",
	Summary:  "goose: one file with an Up section, bodies fenced as one statement, and a Down section that refuses",
	Parts:    []Part{Whole},
	order:    numeric,
	initial:  datetime,
	parse:    parseGoose,
	name:     nameDigits,
	render:   renderGoose,
	forbids:  []string{"+goose"},
	maxValue: "9223372036854775807",
}

// Migrations in Go have numbers too.
var gooseFile = regexp.MustCompile(`^([0-9]+)_(.+)\.(sql|go)$`)

func parseGoose(file string) (Name, bool) {
	m := gooseFile.FindStringSubmatch(file)
	if m == nil || strings.Trim(m[1], "0") == "" || strings.HasSuffix(file, "_test.go") {
		return Name{}, false
	}
	if m[3] == "go" {
		m[2] += ".go"
	}
	return Name{Number: m[1], Description: m[2]}, true
}

func renderGoose(m Migration) ([]File, error) {
	up, err := fence(m.SQL)
	if err != nil {
		return nil, err
	}
	down, err := fence(m.Refusal)
	if err != nil {
		return nil, err
	}
	return []File{{Whole, []byte(m.Header + "\n-- +goose Up\n" + up + "\n-- +goose Down\n" + down)}}, nil
}

// fence marks the statements that goose would cut in two, which it does at a semicolon at the
// end of a line.
func fence(sql string) (string, error) {
	var out strings.Builder
	at := 0
	for _, s := range statement.Split(sql) {
		start, end := lineStart(sql, s.Start), lineEnd(sql, s.End)
		if start < at || strings.TrimSpace(sql[start:s.Start]) != "" || !s.Closed {
			return "", fmt.Errorf("goose needs every statement on lines of its own, with a semicolon: %.60q", sql[s.Start:])
		}
		out.WriteString(sql[at:start])
		if text := sql[start:end]; s.HasDollarQuote() || breaks(text) {
			out.WriteString("-- +goose StatementBegin\n" + text + "-- +goose StatementEnd\n")
		} else {
			out.WriteString(text)
		}
		at = end
	}
	return out.String() + sql[at:], nil
}

// breaks reports whether goose would see the end of a statement anywhere but in its last line.
func breaks(text string) bool {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		ends := false
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "--") {
				break
			}
			ends = strings.HasSuffix(word, ";")
		}
		if ends != (i == len(lines)-1) {
			return true
		}
	}
	return false
}

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
