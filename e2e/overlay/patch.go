package overlay

import (
	"fmt"
	"slices"
	"strings"
)

// Hunk is a replacement in one file.
type Hunk struct {
	File     string // below the root of the module, with slashes
	Old, New string
}

// Patch are replacements that belong together.
type Patch struct {
	Name  string
	Hunks []Hunk
}

// Parse reads a patch: lines "name: value", each of which is given to field, which says whether
// it knows the name; and after a line "file: x" hunks between lines of <<<<, ==== and >>>>.
func Parse(name, text string, field func(name, value string) bool) (*Patch, error) {
	p := &Patch{Name: name}
	file := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "<<<<" {
			end := slices.Index(lines[i:], ">>>>")
			middle := slices.Index(lines[i:], "====")
			if end < 0 || middle < 0 || middle > end || file == "" {
				return nil, fmt.Errorf("line %d: a hunk is a file, <<<<, ====, >>>>", i+1)
			}
			p.Hunks = append(p.Hunks, Hunk{
				File: file, Old: strings.Join(lines[i+1:i+middle], "\n"), New: strings.Join(lines[i+middle+1:i+end], "\n"),
			})
			i += end
			continue
		}
		key, value, _ := strings.Cut(lines[i], ": ")
		switch {
		case key == "":
		case key == "file":
			file = value
		case !field(key, value):
			return nil, fmt.Errorf("line %d: %q is no line of a patch", i+1, lines[i])
		}
	}
	if len(p.Hunks) == 0 {
		return nil, fmt.Errorf("it replaces nothing")
	}
	return p, nil
}

// Apply adds what the patch makes of the source to files, changed texts by their names. read
// returns the source of a file that no patch before has changed.
func (p *Patch) Apply(files map[string]string, read func(file string) (string, error)) error {
	for _, h := range p.Hunks {
		text, ok := files[h.File]
		if !ok {
			var err error
			if text, err = read(h.File); err != nil {
				return fmt.Errorf("patch %s: %w", p.Name, err)
			}
		}
		if n := strings.Count(text, h.Old); n != 1 {
			return fmt.Errorf("patch %s: its text is in %s %d times, and must be there once:\n%s", p.Name, h.File, n, h.Old)
		}
		files[h.File] = strings.Replace(text, h.Old, h.New, 1)
	}
	return nil
}
