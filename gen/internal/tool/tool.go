package tool

import (
	"fmt"
	"strings"
	"time"
)

// Part tells the files of one migration apart.
type Part string

// The parts. A migration is Whole, or it is Up and Down.
const (
	Whole Part = ""
	Up    Part = "up"
	Down  Part = "down"
)

// Name is what a tool reads in the name of a file.
type Name struct {
	Number      string // as it is written
	Description string
	Part        Part
}

// File is one file of a migration.
type File struct {
	Part    Part
	Content []byte
}

// Migration is what a tool is to run, in the terms of no tool.
type Migration struct {
	Header  string // comment lines, each with its end
	SQL     string
	Refusal string // SQL that raises instead of going back
}

// Tool is one migration tool.
type Tool struct {
	Name    string
	Summary string // one line for a person
	Parts   []Part // the files that a migration consists of

	// HasSum says that the folder has a checksum file, see package atlassum.
	HasSum bool
	// Dense says that the numbers may have no gaps, and so are never times.
	Dense bool

	order    order
	initial  scheme // for a folder without migrations
	parse    func(file string) (Name, bool)
	name     func(number, description string, part Part) string
	render   func(m Migration) ([]File, error)
	forbids  []string // texts with a meaning for the tool, wherever they stand
	maxValue string   // the greatest number that the tool can read; "" when there is no limit
}

// All returns the tools in alphabetical order, plain last.
func All() []Tool { return []Tool{atlas, dbmate, flyway, golangMigrate, goose, tern, plain} }

// Find returns the tool of that name.
func Find(name string) (Tool, bool) {
	for _, t := range All() {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// Parse reads the name of a file; false when the tool runs no file of that name.
func (t Tool) Parse(file string) (Name, bool) { return t.parse(file) }

// FileName is the name of a file.
func (t Tool) FileName(number, description string, part Part) string {
	return t.name(number, description, part)
}

// Compare orders two numbers as the tool does.
func (t Tool) Compare(a, b string) int { return t.order.compare(a, b) }

// Next returns a number behind last, which is the greatest that the folder has, "" when it
// has none. Where numbers are times, it is now or as little later as the order needs.
func (t Tool) Next(last string, now time.Time) (string, error) {
	next := t.initial.first(now)
	if last != "" {
		next = schemeOf(last, t.Dense).next(last, now)
	}
	if last != "" && t.Compare(next, last) <= 0 {
		return "", fmt.Errorf("the numbers of the folder are used up: %s would run %s before %s", t.Name, next, last)
	}
	if t.maxValue != "" && byValue(next, t.maxValue) > 0 {
		return "", fmt.Errorf("the numbers of the folder are used up: %s is greater than %s, the greatest that %s reads", next, t.maxValue, t.Name)
	}
	return next, nil
}

// Previous returns the number before another one, of the same width; false before the first.
func (t Tool) Previous(number string) (string, bool) {
	return schemeOf(number, t.Dense).previous(number)
}

// Render writes the files of a migration, in the order of [Tool.Parts].
func (t Tool) Render(m Migration) ([]File, error) {
	for _, text := range t.forbids {
		if strings.Contains(m.SQL, text) || strings.Contains(m.Header, text) {
			return nil, fmt.Errorf("%s would not run %q as SQL", t.Name, text)
		}
	}
	return t.render(m)
}

// one is the rendering of a tool that takes SQL as it is.
func one(m Migration) ([]File, error) {
	return []File{{Whole, []byte(m.Header + "\n" + m.SQL)}}, nil
}
