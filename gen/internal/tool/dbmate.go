package tool

import (
	"regexp"
	"strings"
)

var dbmate = Tool{
	Name:    "dbmate",
	Summary: "dbmate: one file with a migrate:up section, and a migrate:down section that refuses",
	Parts:   []Part{Whole},
	order:   lexical,
	initial: datetime,
	parse:   parseDBMate,
	name:    nameDigits,
	render:  renderDBMate,
	forbids: []string{"migrate:up", "migrate:down"},
}

// The number may be followed by anything.
var dbmateFile = regexp.MustCompile(`^([0-9]+)(.*)\.sql$`)

func parseDBMate(file string) (Name, bool) {
	m := dbmateFile.FindStringSubmatch(file)
	if m == nil {
		return Name{}, false
	}
	return Name{Number: m[1], Description: strings.TrimPrefix(m[2], "_")}, true
}

func renderDBMate(m Migration) ([]File, error) {
	return []File{{Whole, []byte(m.Header + "\n-- migrate:up\n" + m.SQL + "\n-- migrate:down\n" + m.Refusal)}}, nil
}
