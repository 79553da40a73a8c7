package command

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/outbox-gen/internal/output"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func versionCommand(Process) *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program and of the schema that it writes",
		Long:    effects("nothing.", "reads the configuration."),
		Example: "  outbox-gen version -o json",
	})
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		b := readBuild()
		w := cmd.OutOrStdout()
		switch format.Format() {
		case output.JSON:
			return output.WriteJSON(w, b)
		case output.Name:
			_, err := fmt.Fprintln(w, b.Version)
			return err
		}
		table := output.Table{}
		table.Add("outbox-gen", b.Version)
		if b.Commit != "" {
			table.Add("commit", strings.TrimSpace(b.Commit+"  "+b.Time))
		}
		table.Add("go", fmt.Sprintf("%s %s", b.Go, b.Platform))
		for _, s := range b.Schema {
			table.Add("schema", fmt.Sprintf("%s %d", s.Component, s.Version))
		}
		return table.Write(w)
	}
	return c
}

// build is what a binary says of itself.
type build struct {
	Version  string      `json:"version"`
	Commit   string      `json:"commit"`
	Time     string      `json:"commit_time"`
	Go       string      `json:"go"`
	Platform string      `json:"platform"`
	Schema   []component `json:"schema"`
}

// component is a part of the schema that this build writes.
type component struct {
	Component string `json:"component"`
	Version   int    `json:"version"`
}

// readBuild asks the binary. What was not stamped into it is empty, the version "devel".
func readBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
			}
		}
	}
	for _, c := range canonical.Components() {
		b.Schema = append(b.Schema, component{string(c), canonical.Version(c)})
	}
	return b
}
