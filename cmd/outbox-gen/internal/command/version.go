package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/build"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
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
		return readBuild().Write(cmd.OutOrStdout(), "outbox-gen", format.Format())
	}
	return c
}

func readBuild() build.Info { return build.Read(canonical.Components()...) }
