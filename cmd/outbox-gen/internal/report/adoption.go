package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen/adopt"
)

// Adoption is a table that is understood, and the migration for it.
type Adoption struct {
	*adopt.Adoption
	Service string
	Drop    bool
	Changes Changes
}

// Text writes what is to be reviewed, then the files.
func (a Adoption) Text(w io.Writer, p output.Painter) error {
	var out strings.Builder
	fmt.Fprintf(&out, "table        %s.%s, a %s\n", a.Schema, a.Table, a.Shape.Title())
	if !a.Drop {
		a.review(&out)
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return err
	}
	return a.Changes.Text(w, p)
}

func (a Adoption) review(out *strings.Builder) {
	order := strings.Join(a.Order, ", ")
	if order == "" {
		order = "none; no key has two events"
	}
	fmt.Fprintf(out, "unpublished  %s\nrows         %d, of which %d are moved\norder        %s\n\n", a.Unpublished, a.Rows, a.Move, order)
	table := output.Table{Heads: []string{"EVENT", "FROM", "NOTE"}}
	for _, l := range a.Mapping {
		table.Add(l.To, l.From, l.Note)
	}
	_ = table.Write(out) // to memory
	if len(a.Left) > 0 {
		fmt.Fprintf(out, "\nnot moved: %s\n", strings.Join(a.Left, ", "))
	}
	out.WriteString("\n" + strings.Join(a.Steps(), "\n") + "\n\n")
}

// Summary is what to do next.
func (a Adoption) Summary() string {
	switch {
	case a.Changes.Dry:
		return "nothing was written; look it over, then run it again with --write"
	case a.Drop:
		return "look it over; run it when no version of the service writes to the table any more"
	default:
		return "look it over; stop the old relay before it runs"
	}
}

// JSON writes one document.
func (a Adoption) JSON(w io.Writer) error {
	type line struct {
		To   string `json:"to"`
		From string `json:"from"`
		Note string `json:"note"`
	}
	type file struct {
		Path    string `json:"path"`
		Action  string `json:"action"`
		Content string `json:"content"`
	}
	mapping, files := []line{}, []file{}
	for _, l := range a.Mapping {
		mapping = append(mapping, line(l))
	}
	for _, one := range a.Changes.Changes {
		files = append(files, file{a.Changes.Place.Path(one.Path), string(one.Action), string(one.After)})
	}
	return output.WriteJSON(w, output.JSON, struct {
		DryRun      bool     `json:"dry_run"`
		DropOld     bool     `json:"drop_old"`
		Service     string   `json:"service"`
		Table       string   `json:"table"`
		Shape       string   `json:"shape"`
		Unpublished string   `json:"unpublished"`
		Rows        int64    `json:"rows"`
		Move        int64    `json:"move"`
		Order       []string `json:"order"`
		Mapping     []line   `json:"mapping"`
		Left        []string `json:"not_moved"`
		Steps       []string `json:"steps"`
		Files       []file   `json:"files"`
	}{
		a.Changes.Dry, a.Drop, a.Service, a.Schema + "." + a.Table, string(a.Shape), a.Unpublished, a.Rows, a.Move,
		append([]string{}, a.Order...), mapping, append([]string{}, a.Left...), a.Steps(), files,
	})
}
