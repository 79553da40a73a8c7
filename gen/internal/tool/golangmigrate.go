package tool

import "regexp"

var golangMigrate = Tool{
	Name:     "golang-migrate",
	Summary:  "golang-migrate: a .up.sql file, and a .down.sql file that refuses; leave x-multi-statement off",
	Parts:    []Part{Up, Down},
	order:    numeric,
	initial:  datetime,
	parse:    parseGolangMigrate,
	name:     nameGolangMigrate,
	render:   renderGolangMigrate,
	maxValue: "9223372036854775807",
}

var golangMigrateFile = regexp.MustCompile(`^([0-9]+)_(.*)\.(up|down)\.(.*)$`)

func parseGolangMigrate(file string) (Name, bool) {
	m := golangMigrateFile.FindStringSubmatch(file)
	if m == nil {
		return Name{}, false
	}
	description := m[2]
	if m[4] != "sql" {
		description += "." + m[4]
	}
	return Name{Number: m[1], Description: description, Part: Part(m[3])}, true
}

func nameGolangMigrate(number, description string, part Part) string {
	return number + "_" + description + "." + string(part) + ".sql"
}

func renderGolangMigrate(m Migration) ([]File, error) {
	return []File{
		{Up, []byte(m.Header + "\n" + m.SQL)},
		{Down, []byte(m.Header + "\n" + m.Refusal)},
	}, nil
}
