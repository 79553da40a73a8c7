package tool

import "regexp"

var flyway = Tool{
	Name:    "flyway",
	Summary: "flyway: one versioned file; an undo is refused by flyway itself",
	Parts:   []Part{Whole},
	order:   dotted,
	initial: counting(1),
	parse:   parseFlyway,
	name:    nameFlyway,
	render:  one,
	forbids: []string{"${"}, // a placeholder
}

// Versioned and baseline migrations share their numbers; repeatable ones have none.
var flywayFile = regexp.MustCompile(`^[VB]([0-9]+(?:[._][0-9]+)*)__(.+)\.sql$`)

func parseFlyway(file string) (Name, bool) {
	m := flywayFile.FindStringSubmatch(file)
	if m == nil {
		return Name{}, false
	}
	return Name{Number: m[1], Description: m[2]}, true
}

func nameFlyway(number, description string, _ Part) string {
	return "V" + number + "__" + description + ".sql"
}
