package command

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/cmd/internal/build"
	"github.com/holdfast-dev/holdfast/cmd/internal/output"
	"github.com/holdfast-dev/holdfast/schema/canonical"
)

func versionCommand() *cobra.Command {
	c := verb(&cobra.Command{
		Use:     "version",
		Short:   "Show the version of this program and of the schema that it expects",
		Long:    effects("nothing.", "reads a database; relay status compares."),
		Example: "  relay version -o json",
	})
	format := outputFlag(c, output.Text, output.JSON, output.Name)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return readBuild().Write(cmd.OutOrStdout(), "relay", format.Format())
	}
	return c
}

func readBuild() build.Info { return build.Read(append(canonical.Relay.Needs(), canonical.Relay)...) }
