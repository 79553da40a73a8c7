package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/consumers/reconcile"
)

// truthReport is the output of relay consumer reconcile: a contract, only ever added to.
type truthReport struct {
	Verdict     string         `json:"verdict"`
	Explained   bool           `json:"explained"`
	Unexplained int64          `json:"unexplained"`
	Database    string         `json:"database"`
	Table       string         `json:"table"`
	Truth       string         `json:"truth"`
	Records     int64          `json:"records"`
	Messages    int64          `json:"messages"`   // of a stream; 0 for an export
	Unreadable  int64          `json:"unreadable"` // messages that are no events
	Rows        int64          `json:"rows"`
	Classes     []truthClass   `json:"classes"` // those that there are
	Examples    []truthExample `json:"examples"`
}

type truthClass struct {
	Class     reconcile.Class `json:"class"`
	Count     int64           `json:"count"`
	Explained bool            `json:"explained"`
	Meaning   string          `json:"meaning"`
}

type truthExample struct {
	Class   reconcile.Class `json:"class"`
	Account string          `json:"account"`
	Key     string          `json:"key"`
	Ref     string          `json:"ref"`
	FactID  string          `json:"fact_id"` // "" without one
	Effects []string        `json:"effects"`
}

// truthMeanings say what each class is.
var truthMeanings = map[reconcile.Class]string{
	reconcile.Missing:      "told, and neither a fact nor an effect",
	reconcile.Duplicate:    "more than one effect that counts",
	reconcile.Mismatch:     "truth, fact and effect do not say the same",
	reconcile.Split:        "a fact without its effect, or an effect without its fact",
	reconcile.CrossAccount: "told of one account, recorded for another",
	reconcile.Foreign:      "recorded, and the truth does not know it",
	reconcile.Decided:      "a mismatch that somebody has decided about",
	reconcile.Clean:        "one fact, one effect, the same",
}

func truthReportOf(r *reconcile.Report, database string) *truthReport {
	out := &truthReport{
		Explained: r.Unexplained() == 0, Unexplained: r.Unexplained(), Database: database, Table: r.Table, Truth: r.Truth,
		Records: r.Records, Rows: r.Rows, Messages: r.Messages, Unreadable: r.Unreadable, Classes: []truthClass{}, Examples: []truthExample{},
	}
	for _, class := range reconcile.Classes() {
		if n := r.Counts[class]; n > 0 {
			out.Classes = append(out.Classes, truthClass{class, n, class.Explained(), truthMeanings[class]})
		}
	}
	for _, e := range r.Examples {
		example := truthExample{Class: e.Class, Account: e.Account, Key: e.Key, Ref: e.Ref, Effects: append([]string{}, e.Effects...)}
		if e.FactID != 0 {
			example.FactID = strconv.FormatInt(e.FactID, 10)
		}
		out.Examples = append(out.Examples, example)
	}
	out.Verdict = fmt.Sprintf("Explained: %s of %s agree with %s, and nothing is unexplained.", output.Count(r.Records, "record"), r.Truth, r.Table)
	if !out.Explained {
		out.Verdict = fmt.Sprintf("Not explained: %s of %s and %s.", output.Count(out.Unexplained, "key"), r.Truth, r.Table)
	}
	return out
}

func (r *truthReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", r.Verdict); err != nil {
		return err
	}
	table := output.Table{Right: []bool{false, true}}
	table.Add("records", output.Number(r.Records), "of "+r.Truth)
	if r.Messages > 0 {
		table.Add("messages", output.Number(r.Messages), "of the stream")
	}
	if r.Unreadable > 0 {
		table.Add("unreadable", output.Number(r.Unreadable), "no events: the consumer has given them up")
	}
	table.Add("rows", output.Number(r.Rows), "facts and effects in "+r.Database)
	for _, class := range r.Classes {
		table.Add(string(class.Class), output.Number(class.Count), class.Meaning)
	}
	if err := table.Write(w); err != nil || len(r.Examples) == 0 {
		return err
	}
	examples := output.Table{Heads: []string{"CLASS", "ACCOUNT", "KEY", "FACT", "EFFECTS", "TOLD"}}
	for _, e := range r.Examples {
		examples.Add(string(e.Class), plain(e.Account), plain(e.Key), plain(e.FactID), plain(strings.Join(e.Effects, " ")), plain(e.Ref))
	}
	return writeBelow(w, &examples)
}
