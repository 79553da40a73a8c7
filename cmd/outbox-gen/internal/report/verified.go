package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
	"github.com/holdfast-dev/holdfast/schema/catalog"
)

// Verified is what databases answered.
type Verified struct{ databases []verified }

type verified struct {
	name  string
	found *gen.Verified // nil when it could not be asked
	err   error
	hint  string
}

// Add adds the answer of a database, or why there is none.
func (v *Verified) Add(name string, found *gen.Verified, err error, hint string) {
	v.databases = append(v.databases, verified{name, found, err, hint})
}

// Failed counts the databases that could not be asked.
func (v *Verified) Failed() int {
	n := 0
	for _, d := range v.databases {
		if d.err != nil {
			n++
		}
	}
	return n
}

// Clean reports whether every database was asked and has no difference.
func (v *Verified) Clean() bool { return v.Failed() == 0 && v.differences() == 0 }

func (v *Verified) differences() int {
	n := 0
	for _, d := range v.databases {
		if d.err == nil {
			n += len(d.found.Differences)
		}
	}
	return n
}

// Summary is the result in one line.
func (v *Verified) Summary() string {
	if len(v.databases) == v.Failed() {
		return "no database could be asked: nothing is known"
	}
	text := fmt.Sprintf("%s verified: ", output.Count(len(v.databases)-v.Failed(), "database"))
	if n := v.differences(); n > 0 {
		text += output.Count(n, "difference")
	} else {
		text += "no difference"
	}
	if n := v.Failed(); n > 0 {
		text += fmt.Sprintf("; %d could not be asked", n)
	}
	return text
}

// Text lists the differences of each database, with the SQL that mends them.
func (v *Verified) Text(w io.Writer, p output.Painter) error {
	var out strings.Builder
	for _, d := range v.databases {
		if d.err != nil {
			fmt.Fprintf(&out, "%s: %s\n", d.name, p.Paint(output.Red, "error: "+strings.Join(strings.Fields(d.err.Error()), " ")))
			if d.hint != "" {
				fmt.Fprintf(&out, "  hint: %s\n", d.hint)
			}
			continue
		}
		fmt.Fprintf(&out, "%s: schema %s, Postgres %d: %s\n", d.name, d.found.Schema, d.found.Postgres, verdict(p, d.found))
		for _, difference := range d.found.Differences {
			writeDifference(&out, p, difference)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func verdict(p output.Painter, found *gen.Verified) string {
	switch {
	case len(found.Differences) == 0:
		return p.Paint(output.Green, "as it should be")
	case found.Matters():
		return p.Paint(output.Red, output.Count(len(found.Differences), "difference")+", a relay refuses it")
	}
	return output.Count(len(found.Differences), "difference") + ", a relay accepts it"
}

func writeDifference(out *strings.Builder, p output.Painter, d catalog.Difference) {
	note := ""
	if !d.Matters {
		note = " (costs speed or space only)"
	}
	fmt.Fprintf(out, "\n  %s%s\n", d, note)
	if strings.Contains(d.Expected, "\n") && strings.Contains(d.Actual, "\n") {
		diff := udiff.Unified("expected", "found", lineEnd(d.Expected), lineEnd(d.Actual))
		for line := range strings.Lines(paint(p, diff)) {
			out.WriteString("  " + line)
		}
	}
	if strings.Contains(d.Mend, "\n") {
		out.WriteString("  mend:\n")
		for line := range strings.Lines(lineEnd(d.Mend)) {
			out.WriteString("    " + line)
		}
		return
	}
	fmt.Fprintf(out, "  mend: %s\n", d.Mend)
}

func lineEnd(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }
