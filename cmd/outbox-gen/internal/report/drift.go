package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

// Drift is what a check found.
type Drift struct {
	Services int
	Found    []gen.Drift
	Place    Place
	Lines    int // of a difference that text shows; 0 for all
	Version  string
}

// Text writes each drift with its difference and the command that mends it.
func (d Drift) Text(w io.Writer, p output.Painter) error {
	var out strings.Builder
	for _, one := range d.Found {
		path := d.Place.Path(one.File)
		fmt.Fprintf(&out, "%s: %s: %s: %s\n", path, p.Paint(output.Red, string(one.Kind)), one.Service, one.Detail)
		diff, more := cut(difference(one, path), d.Lines)
		out.WriteString(paint(p, diff))
		if more > 0 {
			fmt.Fprintf(&out, "... %s more; all of it: outbox-gen check --diff-lines 0\n", output.Count(more, "line"))
		}
		fmt.Fprintf(&out, "mend: %s\n\n", d.Place.Command(one.Mend))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Summary is the result in one line.
func (d Drift) Summary() string {
	if len(d.Found) == 0 {
		return "no drift in " + output.Count(d.Services, "service")
	}
	drifted := map[string]bool{}
	for _, one := range d.Found {
		drifted[one.Service] = true
	}
	return fmt.Sprintf("%s in %d of %s; to know more: outbox-gen explain %s",
		output.Count(len(d.Found), "drift"), len(drifted), output.Count(d.Services, "service"), d.Found[0].Kind)
}

// JSON writes one document.
func (d Drift) JSON(w io.Writer) error {
	type drift struct {
		Service string `json:"service"`
		File    string `json:"file"`
		Line    int    `json:"line,omitempty"`
		Kind    string `json:"kind"`
		Detail  string `json:"detail"`
		Mend    string `json:"mend"`
		Diff    string `json:"diff"`
	}
	found := make([]drift, 0, len(d.Found))
	for _, one := range d.Found {
		path := d.Place.Path(one.File)
		found = append(found, drift{one.Service, path, one.Line, string(one.Kind), one.Detail, d.Place.Command(one.Mend), difference(one, path)})
	}
	return output.WriteJSON(w, output.JSON, struct {
		Services int     `json:"services"`
		Drift    []drift `json:"drift"`
	}{d.Services, found})
}

// GitHub writes a workflow command for each drift, which the run shows beside the file.
func (d Drift) GitHub(w io.Writer) error {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var out strings.Builder
	for _, one := range d.Found {
		fmt.Fprintf(&out, "::error file=%s,line=%d,title=%s::%s\n",
			property.Replace(d.Place.Path(one.File)), max(one.Line, 1), property.Replace("outbox-gen "+string(one.Kind)),
			data.Replace(fmt.Sprintf("%s: %s\nmend: %s", one.Service, one.Detail, d.Place.Command(one.Mend))))
	}
	_, err := io.WriteString(w, out.String())
	return err
}
