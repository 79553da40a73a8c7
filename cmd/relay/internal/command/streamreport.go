package command

import (
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/relay"
)

// streamReport is the output of both commands.
type streamReport struct {
	Stream  string         `json:"stream"`
	Server  string         `json:"server"`
	Exists  bool           `json:"exists"` // before
	Changes []streamChange `json:"changes"`
	Applied bool           `json:"applied"`

	plan *relay.StreamPlan
}

type streamChange struct {
	Field string `json:"field"`
	Have  string `json:"have"`
	Want  string `json:"want"`
}

func newStreamReport(plan *relay.StreamPlan, server string) *streamReport {
	r := &streamReport{Stream: plan.Name, Server: server, Exists: plan.Exists, Changes: []streamChange{}, plan: plan}
	for _, c := range plan.Changes {
		r.Changes = append(r.Changes, streamChange(c))
	}
	return r
}

func (r *streamReport) write(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	table := output.Table{Heads: []string{"FIELD", "NOW", "THEN"}}
	var verdict string
	switch {
	case !r.Exists:
		verdict = fmt.Sprintf("Stream %s does not exist on %s. It would be created:", r.Stream, r.Server)
		table.Heads = []string{"FIELD", "THEN"}
	case len(r.Changes) > 0:
		verdict = fmt.Sprintf("Stream %s on %s needs %s:", r.Stream, r.Server, output.Count(int64(len(r.Changes)), "change"))
	default:
		_, err := fmt.Fprintf(w, "Stream %s on %s is as the relay needs it.\n", r.Stream, r.Server)
		return err
	}
	for _, c := range r.Changes {
		if r.Exists {
			table.Add(c.Field, c.Have, c.Want)
		} else {
			table.Add(c.Field, c.Want)
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", verdict); err != nil {
		return err
	}
	return table.Write(w)
}

func (r *streamReport) writeApplied(w io.Writer, format output.Format) error {
	if format == output.JSON {
		return output.WriteJSON(w, format, r)
	}
	done := "created"
	if r.Exists {
		done = "changed"
	}
	_, err := fmt.Fprintf(w, "\nStream %s was %s.\n", r.Stream, done)
	return err
}
