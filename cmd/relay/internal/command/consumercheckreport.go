package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/check"
)

// invariantsReport is the output of relay consumer check: a contract, only ever added to.
type invariantsReport struct {
	Verdict  string             `json:"verdict"`
	Sound    bool               `json:"sound"`
	Database string             `json:"database"`
	Findings []invariantFinding `json:"findings"`
}

type invariantFinding struct {
	Name     string             `json:"name"`
	Severity check.Severity     `json:"severity"`
	Grace    float64            `json:"grace_seconds"`
	Table    string             `json:"table"` // "" for one that is about no table
	Verdict  check.Verdict      `json:"verdict"`
	Count    int64              `json:"count"`
	Meaning  string             `json:"meaning"`
	Remedy   string             `json:"remedy"`
	Problem  string             `json:"problem,omitempty"` // why it is unknown
	Seconds  float64            `json:"seconds"`
	Examples []invariantExample `json:"examples"`
}

type invariantExample struct {
	ID    string `json:"id"`
	What  string `json:"what"`
	Since string `json:"since"`
}

func invariantsReportOf(found *check.Report, database string) *invariantsReport {
	r := &invariantsReport{Sound: found.Sound(), Database: database, Findings: []invariantFinding{}}
	broken := 0
	for _, f := range found.Findings {
		out := invariantFinding{
			Name: f.Name, Severity: f.Severity, Grace: output.Seconds(f.Grace), Table: f.Table, Verdict: f.Verdict, Count: f.Count, Meaning: f.Meaning,
			Remedy: f.Remedy, Seconds: output.Seconds(f.Took), Examples: []invariantExample{},
		}
		if f.Err != nil {
			out.Problem = f.Err.Error()
		}
		for _, e := range f.Examples {
			out.Examples = append(out.Examples, invariantExample{e.ID, e.What, timeOrEmpty(e.Since)})
		}
		if f.Verdict != check.Held {
			broken++
		}
		r.Findings = append(r.Findings, out)
	}
	r.Verdict = fmt.Sprintf("Sound: %s hold in %s.", output.Count(int64(len(r.Findings)), "invariant"), database)
	if broken > 0 {
		r.Verdict = fmt.Sprintf("Not sound: %d of %s do not hold in %s.", broken, output.Count(int64(len(r.Findings)), "invariant"), database)
	}
	return r
}

func (r *invariantsReport) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, r)
	case output.JSONL:
		return writeLines(w, r.Findings)
	case output.Name:
		for _, f := range r.Findings {
			if f.Verdict != check.Held {
				if _, err := fmt.Fprintln(w, f.Name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", r.Verdict)
	for _, f := range r.Findings {
		name := f.Name
		if f.Table != "" {
			name += " (" + f.Table + ")"
		}
		switch f.Verdict {
		case check.Held:
			fmt.Fprintf(&out, "%-7s  %s\n", f.Verdict, name)
		case check.Broken:
			fmt.Fprintf(&out, "%-7s  %s, %s: found %s %s\n", f.Verdict, name, f.Severity, output.Number(f.Count), f.Meaning)
		default:
			fmt.Fprintf(&out, "%-7s  %s: %s\n", f.Verdict, name, f.Problem)
		}
		for _, e := range f.Examples {
			fmt.Fprintf(&out, "         id %s  %s  %s\n", plain(e.ID), plain(e.What), e.Since)
		}
		if f.Verdict == check.Broken {
			fmt.Fprintf(&out, "         hint: %s\n", f.Remedy)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func writeCatalog(w io.Writer, format output.Format) error {
	type entry struct {
		Name     string         `json:"name"`
		Severity check.Severity `json:"severity"`
		Grace    float64        `json:"grace_seconds"`
		Meaning  string         `json:"meaning"`
		Remedy   string         `json:"remedy"`
	}
	var all []entry
	table := output.Table{Heads: []string{"INVARIANT", "SEVERITY", "GRACE", "BROKEN BY"}}
	for _, i := range check.Catalog() {
		all = append(all, entry{i.Name, i.Severity, output.Seconds(i.Grace), i.Meaning, i.Remedy})
		table.Add(i.Name, string(i.Severity), output.Age(i.Grace), i.Meaning)
	}
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, map[string]any{"invariants": all})
	case output.JSONL:
		return writeLines(w, all)
	case output.Name:
		return writeNames(w, all, func(e entry) string { return e.Name })
	}
	return table.Write(w)
}
