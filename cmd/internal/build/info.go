package build

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

// Info is what a binary says of itself.
type Info struct {
	Version  string      `json:"version"`
	Commit   string      `json:"commit"`
	Time     string      `json:"commit_time"`
	Modified bool        `json:"modified"`
	Go       string      `json:"go"`
	Platform string      `json:"platform"`
	Schema   []Component `json:"schema"`
}

// Component is a part of the schema that this build knows.
type Component struct {
	Component string `json:"component"`
	Version   int    `json:"version"`
}

// Read asks the binary. What was not stamped into it is empty, the version "devel". The components
// are those that the program has to do with.
func Read(components ...canonical.Component) Info {
	b := Info{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.Version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	for _, c := range components {
		b.Schema = append(b.Schema, Component{Component: string(c), Version: canonical.Version(c)})
	}
	return b
}

// Write writes what a binary says of itself, under the name of the program.
func (b Info) Write(w io.Writer, program string, format output.Format) error {
	switch format {
	case output.JSON:
		return output.WriteJSON(w, output.JSON, b)
	case output.Name:
		_, err := fmt.Fprintln(w, b.Version)
		return err
	}
	commit := b.Commit
	if b.Modified {
		commit += " with changes"
	}
	table := output.Table{}
	table.Add(program, b.Version)
	if commit != "" {
		table.Add("commit", strings.TrimSpace(commit+"  "+b.Time))
	}
	table.Add("go", fmt.Sprintf("%s %s", b.Go, b.Platform))
	for _, s := range b.Schema {
		table.Add("schema", fmt.Sprintf("%s %d", s.Component, s.Version))
	}
	return table.Write(w)
}
