package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/repair"
)

// repairReport is the output of relay consumer repair: a contract, only ever added to.
type repairReport struct {
	Verdict    string                 `json:"verdict"`
	Mode       repair.Mode            `json:"mode"`
	Applied    bool                   `json:"applied"`
	Database   string                 `json:"database"`
	Table      string                 `json:"table"`
	Group      string                 `json:"group"`
	Rows       int64                  `json:"rows"`
	Shapes     map[repair.Shape]int64 `json:"shapes"`
	Groups     []repairGroup          `json:"groups"`
	Duplicates int64                  `json:"duplicates"`
	Removed    int64                  `json:"removed"`
	Superseded int64                  `json:"superseded"`
	Reversals  int64                  `json:"reversals"`
	Events     int64                  `json:"events"`
	Facts      int64                  `json:"facts"`
	Index      string                 `json:"index"`
	IndexState string                 `json:"index_state"`
	Seconds    float64                `json:"seconds"`
	Steps      []repairStep           `json:"steps"`
}

type repairGroup struct {
	Shape repair.Shape `json:"shape"`
	IDs   []string     `json:"ids"` // the one that stays first
}

type repairStep struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

func (r *repairing) write(report *repair.Report) error {
	out := &repairReport{
		Mode: report.Mode, Applied: report.Applied, Database: r.d.database, Table: report.Table, Group: report.Group, Rows: report.Rows, Shapes: report.Counts,
		Groups: []repairGroup{}, Duplicates: report.Duplicates, Removed: report.Removed, Superseded: report.Superseded, Reversals: report.Reversals,
		Events: report.Events, Facts: report.Facts, Index: report.Index, IndexState: report.IndexState, Seconds: output.Seconds(report.Total()), Steps: []repairStep{},
	}
	for _, g := range report.Groups {
		out.Groups = append(out.Groups, repairGroup{g.Shape, g.IDs})
	}
	for _, s := range report.Steps {
		out.Steps = append(out.Steps, repairStep{s.Name, output.Seconds(s.Took)})
	}
	out.Verdict = repairVerdict(report)
	if r.format == output.JSON {
		return output.WriteJSON(r.cmd.OutOrStdout(), r.format, out)
	}
	return out.writeText(r.cmd.OutOrStdout())
}

func repairVerdict(r *repair.Report) string {
	duplicates := output.Count(r.Duplicates, "duplicate")
	switch {
	case r.Refusals() > 0:
		return fmt.Sprintf("Refused: %s of %s need a person.", output.Count(r.Refusals(), "group"), r.Table)
	case r.Applied:
		return fmt.Sprintf("Repaired %s: %s, and the unique index %s stands.", r.Table, duplicates, r.Index)
	case r.Mode == repair.Rehearse:
		return fmt.Sprintf("Rehearsed and rolled back: %s of %s, in %s.", duplicates, r.Table, output.Age(r.Total()))
	case r.Duplicates == 0 && r.Facts == 0 && r.IndexState == "there":
		return fmt.Sprintf("Nothing to repair in %s.", r.Table)
	}
	return fmt.Sprintf("Repair would take %s of %s, and nothing stands in its way.", duplicates, r.Table)
}

func (r *repairReport) writeText(w io.Writer) error {
	table := output.Table{Right: []bool{false, true}}
	table.Add("rows", output.Number(r.Rows), fmt.Sprintf("that count, of %s in %s", r.Table, r.Database))
	for _, shape := range repair.Shapes() {
		if n := r.Shapes[shape]; n > 0 {
			table.Add(string(shape), output.Number(n), "groups")
		}
	}
	for _, line := range []struct {
		name, what string
		n          int64
	}{
		{"removed", "rows, kept in the ledger", r.Removed}, {"superseded", "rows, kept in the ledger", r.Superseded}, {"reversals", "rows that take them back", r.Reversals},
		{"events", "unpublished, of rows that go", r.Events}, {"facts", "for effects that have none", r.Facts},
	} {
		if line.n > 0 {
			table.Add(line.name, output.Number(line.n), line.what)
		}
	}
	table.Add("index", "", r.Index+", "+r.IndexState)
	if r.Mode != repair.Plan {
		for _, s := range r.Steps {
			table.Add(s.Name, fmt.Sprintf("%.3f", s.Seconds), "seconds")
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", r.Verdict); err != nil {
		return err
	}
	if err := table.Write(w); err != nil {
		return err
	}
	groups := output.Table{Heads: []string{"SHAPE", "IDS"}}
	for _, g := range r.Groups {
		groups.Add(string(g.Shape), plain(strings.Join(g.IDs, " ")))
	}
	if len(r.Groups) > 0 {
		return writeBelow(w, &groups)
	}
	return nil
}
