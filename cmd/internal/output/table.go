package output

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table is rows of cells under headings. Columns are as wide as they must be; those in Right
// are aligned to the right.
type Table struct {
	Heads []string
	Right []bool // by column; short is fine
	Rows  [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write writes the headings, unless there are none, and the rows.
func (t *Table) Write(w io.Writer) error {
	rows := t.Rows
	if t.Heads != nil {
		rows = append([][]string{t.Heads}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < len(t.Right) && t.Right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
