package command

import (
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/hold/saga/sweep"
)

// sweepReport is what relay sweep apply would do, or what became of the candidates in all runs so far: a
// contract, only ever added to.
type sweepReport struct {
	Database    string        `json:"database"`
	Schema      string        `json:"schema"`
	Manifest    string        `json:"manifest"`
	Seal        string        `json:"seal"`
	ResultsFile string        `json:"results_file"`
	Applied     bool          `json:"applied"`
	Undone      int           `json:"undone"`
	Quarantined int           `json:"quarantined"`
	Skipped     int           `json:"skipped"`
	Failed      int           `json:"failed"`
	Unknown     int           `json:"unknown"`
	Pending     int           `json:"pending"`
	Results     []sweepResult `json:"results"`
	PendingIDs  []string      `json:"pending_ids"`
	More        bool          `json:"more"` // the plan was full: there were more orphans

	meant bool // --apply was given
}

type sweepResult struct {
	ID          string `json:"id"`
	Outcome     string `json:"outcome"`
	Why         string `json:"why"`
	Transaction string `json:"transaction"`
	At          string `json:"at"` // "" when it was not written yet
}

func newSweepReport(m *sweep.Manifest, database string, o *sweepOrder, found *sweep.Report) *sweepReport {
	r := &sweepReport{Database: database, Schema: m.Database.Schema, Manifest: o.manifest, Seal: m.Seal(), ResultsFile: o.results,
		Undone: found.Count(sweep.Undone), Quarantined: found.Count(sweep.Quarantined), Skipped: found.Count(sweep.Skipped), Failed: found.Count(sweep.Failed),
		Unknown: found.Count(sweep.Unknown), More: m.More,
		Pending: len(found.Pending), Results: []sweepResult{}, PendingIDs: append([]string{}, found.Pending...), meant: o.apply}
	for _, c := range found.Results {
		r.Results = append(r.Results, sweepResult{c.ID, string(c.Outcome), c.Why, c.Transaction, timeOrNone(c.At)})
	}
	return r
}

// planned is how many a run with this limit would act on.
func (r *sweepReport) planned(limit int) int {
	if limit > 0 {
		return min(limit, r.Pending)
	}
	return r.Pending
}

func (r *sweepReport) write(w io.Writer, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, format, r)
	case output.JSONL:
		return writeLines(w, r.Results)
	case output.Name:
		return r.writeNames(w)
	}
	head := fmt.Sprintf("Manifest %s of %s, sealed %s:", r.Manifest, r.Database, r.Seal)
	if r.Applied {
		head = "\nIn all runs so far, of which " + r.ResultsFile + " tells:"
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", head); err != nil {
		return err
	}
	would := "to be undone"
	if r.Applied {
		would = "left for another run"
	}
	table := output.Table{Right: []bool{true}}
	for _, row := range []struct {
		n    int
		text string
	}{{r.Pending, would}, {r.Undone, "undone"}, {r.Quarantined, "quarantined, for a person"}, {r.Skipped, "skipped"}, {r.Failed, "failed; the next run tries again"},
		{r.Unknown, "unknown; the next run asks"}} {
		table.Add(output.Number(int64(row.n)), row.text)
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if err := r.writeLeft(w); err != nil {
		return err
	}
	if r.More {
		if _, err := fmt.Fprintf(w, "\nThere were more orphans than this manifest has: plan again when it is done.\n"); err != nil {
			return err
		}
	}
	if r.Applied || r.meant || r.Pending == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nNothing was changed: add --apply, --seal and --reason to undo.\n")
	return err
}

// writeLeft lists what is not undone, which people have to look at.
func (r *sweepReport) writeLeft(w io.Writer) error {
	table := output.Table{Heads: []string{"CANDIDATE", "OUTCOME", "WHY"}}
	more := 0
	for _, c := range r.Results {
		switch {
		case c.Outcome == string(sweep.Undone):
		case len(table.Rows) == sweepShown:
			more++
		default:
			table.Add(c.ID, c.Outcome, plain(c.Why))
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := table.Write(w); err != nil || more == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "and %s more: -o jsonl shows all.\n", output.Number(int64(more)))
	return err
}

// writeNames prints what would be undone, or what was.
func (r *sweepReport) writeNames(w io.Writer) error {
	ids := r.PendingIDs
	if r.Applied {
		ids = nil
		for _, c := range r.Results {
			if c.Outcome == string(sweep.Undone) {
				ids = append(ids, c.ID)
			}
		}
	}
	return writeNames(w, ids, itself)
}
