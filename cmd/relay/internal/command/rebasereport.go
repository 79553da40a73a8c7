package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay/rebase"
)

// rebaseReport is the output of relay rebase: a contract, only ever added to.
type rebaseReport struct {
	Database   string        `json:"database"`
	Schema     string        `json:"schema"`
	Needed     bool          `json:"needed"`
	Applied    bool          `json:"applied"`
	Stored     string        `json:"stored_system_identifier"`
	Actual     string        `json:"system_identifier"`
	Groups     []rebaseGroup `json:"groups"`
	Held       int64         `json:"held"`
	StagedHere int64         `json:"staged_here"`
	Uncertain  int64         `json:"uncertain"`
	Renumbered int64         `json:"renumbered"`
	Issued     int64         `json:"last_number"`
	Highest    int64         `json:"highest_number"`
	Oldest     string        `json:"oldest,omitempty"`
	Newest     string        `json:"newest,omitempty"`
	LiveLeases int           `json:"live_leases"`

	plan *rebase.Plan
}

type rebaseGroup struct {
	Group     string       `json:"group"`
	Drained   int64        `json:"drained"`
	Undrained int64        `json:"undrained"`
	Lanes     []rebaseLane `json:"lanes"`
}

type rebaseLane struct {
	Lane      int16 `json:"lane"`
	Drained   int64 `json:"drained"`
	Undrained int64 `json:"undrained"`
	Held      int64 `json:"held"`
	Paging    bool  `json:"paging"`
}

func newRebaseReport(plan *rebase.Plan, database string) *rebaseReport {
	r := &rebaseReport{
		Database: database, Schema: plan.Schema, Needed: plan.Needed,
		Stored: strconv.FormatInt(plan.Stored, 10), Actual: strconv.FormatInt(plan.Actual, 10),
		Groups: []rebaseGroup{}, Held: plan.Held, StagedHere: plan.StagedHere, Uncertain: plan.Uncertain, Renumbered: plan.Renumbered,
		Issued: plan.Issued, Highest: plan.Highest, LiveLeases: len(plan.Live), plan: plan,
	}
	if !plan.Oldest.IsZero() {
		r.Oldest, r.Newest = output.Time(plan.Oldest), output.Time(plan.Newest)
	}
	if !plan.Needed {
		return r
	}
	for _, g := range plan.Groups {
		group := rebaseGroup{Group: g.Name, Drained: g.Drained, Undrained: g.Undrained, Lanes: []rebaseLane{}}
		for _, l := range g.Lanes {
			group.Lanes = append(group.Lanes, rebaseLane{l.Lane, l.Drained, l.Undrained, l.Held, l.Paging})
		}
		r.Groups = append(r.Groups, group)
	}
	return r
}

func (r *rebaseReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	if !r.Needed {
		_, err := fmt.Fprintf(w, "Nothing to do: the transaction ids in %s are of this cluster.\n", r.Database)
		return err
	}
	came := fmt.Sprintf("came from another cluster (%s, and this one is %s)", r.Stored, r.Actual)
	if r.Stored == r.Actual {
		came = "has transaction ids that this cluster has not given out yet: its rows were copied"
	}
	if _, err := fmt.Fprintf(w, "%s %s. After a rebase:\n\n", r.Database, came); err != nil {
		return err
	}
	table := output.Table{Heads: []string{"GROUP", "LANE", "DRAINED", "TO DRAIN", "HELD"}, Right: []bool{false, true, true, true, true}}
	for _, g := range r.Groups {
		for _, l := range g.Lanes {
			table.Add(g.Group, strconv.Itoa(int(l.Lane)), output.Number(l.Drained), output.Number(l.Undrained), output.Number(l.Held))
		}
		table.Add(g.Group, "all", output.Number(g.Drained), output.Number(g.Undrained), output.Number(r.Held))
	}
	if err := table.Write(w); err != nil {
		return err
	}
	if notes := r.notes(); len(notes) > 0 {
		_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n"))
		return err
	}
	return nil
}

// notes are what a person should know besides the numbers.
func (r *rebaseReport) notes() []string {
	var notes []string
	if r.Oldest != "" {
		notes = append(notes, fmt.Sprintf("What is to drain was staged from %s to %s.", r.Oldest, r.Newest))
	}
	if r.StagedHere > 0 {
		notes = append(notes, fmt.Sprintf("%s staged in this cluster, and will be drained.", were(r.StagedHere)))
	}
	if r.Uncertain > 0 {
		notes = append(notes, fmt.Sprintf("Of %s of these that is not sure: they may be published a second time, under the same ids.", output.Number(r.Uncertain)))
	}
	if r.Issued < r.Highest {
		notes = append(notes, fmt.Sprintf("The sequence of numbers is behind: it moves from %s to %s.", output.Number(r.Issued), output.Number(r.Highest+r.Renumbered)))
	}
	if r.LiveLeases > 0 {
		notes = append(notes, fmt.Sprintf("%s a live lease: no rebase before it has ended.", has(int64(r.LiveLeases), "lane")))
	}
	return notes
}

func were(n int64) string {
	if n == 1 {
		return "1 event was"
	}
	return output.Count(n, "event") + " were"
}

func has(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return output.Count(n, noun) + " have"
}

func (r *rebaseReport) writeApplied(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	_, err := fmt.Fprintf(w, "\n%s was rebased. Start the relays.\n", r.Database)
	return err
}
