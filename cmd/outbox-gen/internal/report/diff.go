package report

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

// difference is the unified difference from what should be to what is. Drift that is not
// about bytes has none.
func difference(d gen.Drift, path string) string {
	expected, found := string(d.Expected), string(d.Actual)
	switch d.Kind {
	case gen.KindReordered, gen.KindHandmade:
		return ""
	case gen.KindLineEndings: // every line differs, in the same way
		expected, found = firstLine(expected), firstLine(found)
	}
	return udiff.Unified("expected/"+path, "found/"+path, expected, found)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line + "\n"
}

// change is the unified difference that a write makes.
func change(c gen.Change, path string) string {
	before := path
	if c.Before == nil {
		before = "/dev/null"
	}
	return udiff.Unified(before, path, string(c.Before), string(c.After))
}

// cut keeps the first lines of a text, and says how many more there are; 0 keeps all.
func cut(text string, lines int) (kept string, more int) {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if lines <= 0 || len(all) <= lines {
		return text, 0
	}
	return strings.Join(all[:lines], ""), len(all) - lines
}

// paint colours the lines of a difference, and shows what no terminal does: a carriage return.
func paint(p output.Painter, diff string) string {
	var out strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		if bare, found := strings.CutSuffix(text, "\r"); found {
			text = bare + "^M"
		}
		switch {
		case strings.HasPrefix(text, "+"):
			text = p.Paint(output.Green, text)
		case strings.HasPrefix(text, "-"):
			text = p.Paint(output.Red, text)
		case strings.HasPrefix(text, "@@"):
			text = p.Paint(output.Cyan, text)
		}
		fmt.Fprintln(&out, text)
	}
	return out.String()
}
