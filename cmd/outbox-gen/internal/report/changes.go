package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/gen"
)

// Changes is what a command wrote, or with Dry would write.
type Changes struct {
	gen.Report
	Dry   bool
	Place Place
}

// Text lists the files; of a dry run, it shows the differences.
func (c Changes) Text(w io.Writer, p output.Painter) error {
	var out strings.Builder
	for _, one := range c.Changes {
		path := c.Place.Path(one.Path)
		if c.Dry {
			out.WriteString(paint(p, change(one, path)))
			continue
		}
		fmt.Fprintf(&out, "%s %s\n", one.Action, path)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Names lists the paths alone.
func (c Changes) Names(w io.Writer) error {
	var out strings.Builder
	for _, one := range c.Changes {
		fmt.Fprintln(&out, c.Place.Path(one.Path))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Summary is the result in one line.
func (c Changes) Summary() string {
	verb := "written"
	if c.Dry {
		verb = "to write"
	}
	return fmt.Sprintf("%s %s, %d kept, %s", output.Count(len(c.Changes), "file"), verb, c.Kept, output.Count(c.Services, "service"))
}

// JSON writes one document.
func (c Changes) JSON(w io.Writer) error {
	type file struct {
		Service   string `json:"service"`
		Path      string `json:"path"`
		Action    string `json:"action"`
		Component string `json:"component,omitempty"`
		Version   int    `json:"version,omitempty"`
		Diff      string `json:"diff,omitempty"`
	}
	files := make([]file, 0, len(c.Changes))
	for _, one := range c.Changes {
		f := file{Service: one.Service, Path: c.Place.Path(one.Path), Action: string(one.Action), Component: string(one.Component), Version: one.Version}
		if c.Dry {
			f.Diff = change(one, f.Path)
		}
		files = append(files, f)
	}
	return output.WriteJSON(w, output.JSON, struct {
		DryRun   bool   `json:"dry_run"`
		Services int    `json:"services"`
		Kept     int    `json:"kept"`
		Files    []file `json:"files"`
	}{c.Dry, c.Services, c.Kept, files})
}
